// Every distinct call stack by module and offset, and the tags given to it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "allocator/capability.h"
#include "reporter/record/recorder.h"

namespace vramscope {

// Threads: any. Asked only for stacks that StackTable has not seen, so one lock is enough.
class SiteTable {
 public:
  explicit SiteTable(std::size_t max_tags);

  // The tag of (frames, kind and device of place), 0 when all tags are in use. May throw bad_alloc.
  [[nodiscard]] Tag tag(const std::vector<FrameFact>& frames, Place place);
  // Copies frames, sites and tags, without times. May throw bad_alloc.
  void copy_to(RecorderFacts& facts) const;

 private:
  struct FrameHash {
    std::size_t operator()(const FrameFact& frame) const noexcept;
  };
  struct FrameEqual {
    bool operator()(const FrameFact& a, const FrameFact& b) const noexcept {
      return a.module == b.module && a.offset == b.offset;
    }
  };
  std::uint32_t frame_index(const FrameFact& frame) VRAMSCOPE_REQUIRES(lock_);
  std::uint32_t site_index(std::vector<std::uint32_t> frames) VRAMSCOPE_REQUIRES(lock_);

  mutable SystemMutex lock_;
  const std::size_t max_tags_;
  // An entry is appended before it is indexed: a failure in between leaves one that nobody finds.
  std::vector<FrameFact> frames_ VRAMSCOPE_GUARDED_BY(lock_);
  std::vector<SiteFact> sites_ VRAMSCOPE_GUARDED_BY(lock_);
  std::vector<TagFact> tags_ VRAMSCOPE_GUARDED_BY(lock_);
  std::unordered_map<FrameFact, std::uint32_t, FrameHash, FrameEqual> frame_indices_
      VRAMSCOPE_GUARDED_BY(lock_);
  // By hash of frames, and by (site, kind, device).
  std::unordered_multimap<std::uint64_t, std::uint32_t> site_indices_ VRAMSCOPE_GUARDED_BY(lock_);
  std::unordered_map<std::uint64_t, Tag> tag_indices_ VRAMSCOPE_GUARDED_BY(lock_);
};

}  // namespace vramscope
