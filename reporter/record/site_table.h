// SiteTable holds every distinct call stack by module and offset, and the tags given to stacks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/base/appended.h"
#include "allocator/base/capability.h"
#include "reporter/base/facts.h"
#include "reporter/record/site_rows.h"

namespace vramscope {

// A tag and the groups that it counts in.
struct TagGroups {
  Tag tag = 0;
  Groups groups{};
};

// Threads: any. It is asked only for stacks that StackTable does not know, so one lock is enough.
class SiteTable {
 public:
  explicit SiteTable(std::size_t max_tags);

  // Returns the tag of (frames, origin), or 0 if all tags are in use. When tags run short, new tags
  // no longer distinguish threads, streams, ranges and sizes. owner: the object whose code asks.
  // May throw bad_alloc.
  [[nodiscard]] TagGroups tag(const std::vector<FrameFact>& frames, const std::string& owner,
                              Origin origin);
  [[nodiscard]] std::size_t tag_count() const;
  // Copies the frames, sites, owners and tags that `known` lacks, without times. May throw
  // bad_alloc.
  void copy_to(RecorderFacts& facts, const KnownNames& known = {}) const;

 private:
  struct FrameHash {
    std::size_t operator()(const FrameFact& frame) const noexcept;
  };
  struct FrameEqual {
    bool operator()(const FrameFact& a, const FrameFact& b) const noexcept {
      return a.module == b.module && a.offset == b.offset && a.code == b.code && a.line == b.line;
    }
  };
  std::uint32_t frame_index(const FrameFact& frame) VRAMSCOPE_REQUIRES(lock_);
  std::uint32_t node_index(std::uint32_t frame, std::uint32_t parent) VRAMSCOPE_REQUIRES(lock_);
  std::uint32_t site_index(std::span<const std::uint32_t> frames) VRAMSCOPE_REQUIRES(lock_);
  std::uint32_t owner_index(const std::string& owner) VRAMSCOPE_REQUIRES(lock_);
  Tag tag_index(const SiteRows::TagRow& wanted) VRAMSCOPE_REQUIRES(lock_);
  Groups groups_of(const AxisValues& values, Place place) VRAMSCOPE_REQUIRES(lock_);

  mutable SystemMutex lock_;
  const std::size_t max_tags_;
  // An entry is appended before it is indexed. A failure in between leaves an entry that nobody
  // finds.
  std::vector<FrameFact> frames_ VRAMSCOPE_GUARDED_BY(lock_);
  std::unordered_map<FrameFact, std::uint32_t, FrameHash, FrameEqual> frame_indices_
      VRAMSCOPE_GUARDED_BY(lock_);
  std::vector<std::string> owners_ VRAMSCOPE_GUARDED_BY(lock_);
  // The key combines (axis, kind, device, value). Each group has one of each.
  std::unordered_map<std::uint64_t, Group> groups_ VRAMSCOPE_GUARDED_BY(lock_);
  const std::shared_ptr<SiteRows> rows_;  // appended to under the lock
  Appended<std::uint32_t> site_of_node_ VRAMSCOPE_GUARDED_BY(lock_);
  AppendedIndex nodes_ VRAMSCOPE_GUARDED_BY(lock_);
  AppendedIndex tags_ VRAMSCOPE_GUARDED_BY(lock_);
};

}  // namespace vramscope
