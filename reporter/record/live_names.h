// LiveNames writes the meaning of tags and numbers into the live file, each as it appears.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/base/live_memory.h"
#include "reporter/base/facts.h"
#include "reporter/record/trace/fact_code.h"

namespace vramscope {

// Types of facts in LivePart::names, in addition to those of traces (FactType).
enum class LiveFact : std::uint8_t {
  tag_groups = 64,  // sampling and groups by axis of the tag with this number
  warning,
  mark,
};

// The number of the last change of each kind, which names_after() passes to changed_since().
struct NameChanges {
  std::uint64_t modules = 0;
  std::uint64_t threads = 0;
  std::uint64_t streams = 0;
};

// The names that the live file has.
struct ToldNames {
  KnownNames known;
  std::size_t sources = 0;
  std::size_t codes = 0;
  std::size_t ranges = 0;
  std::size_t marks = 0;
  std::size_t warnings = 0;
  NameChanges changes;
};

// The names to write next.
struct NewNames {
  RecorderFacts facts;  // from the first fact that the file lacks
  Numbered<ModuleFact> modules;
  Numbered<ThreadFact> threads;
  Numbered<StreamFact> streams;
  NameChanges changes;
};

// Threads: any.
class LiveNames {
 public:
  // The part that lies in live memory.
  struct Root {
    std::atomic<std::uint64_t> bytes{0};  // facts up to there are complete
    std::atomic<std::uint32_t> tags{0};   // given so far, in the file or not
    std::atomic<std::uint32_t> is_full{0};
  };
  // A program with more names than this generates its call sites.
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  LiveNames(LiveMemory* live, Root& root, std::size_t most_bytes = kMostBytes) noexcept
      : live_(live), root_(root), most_bytes_(most_bytes) {}

  [[nodiscard]] bool is_live() const noexcept { return live_ != nullptr; }

  // collect(ToldNames) returns the names that are new since. When tell() returns, readers of the
  // file find them, whichever thread wrote them. May throw bad_alloc; the next call then writes the
  // names.
  template <class Collect>
  void tell(Collect&& collect) {
    const SystemLock guard(lock_);
    append(collect(std::as_const(told_)));
  }

 private:
  void append(const NewNames& names) VRAMSCOPE_REQUIRES(lock_);
  void write(const FactWriter::Chunks& chunks) VRAMSCOPE_REQUIRES(lock_);
  [[nodiscard]] bool make_room(std::size_t bytes) VRAMSCOPE_REQUIRES(lock_);

  LiveMemory* const live_;
  Root& root_;
  const std::size_t most_bytes_;
  SystemMutex lock_;
  ToldNames told_ VRAMSCOPE_GUARDED_BY(lock_);
  char* first_ VRAMSCOPE_GUARDED_BY(lock_) = nullptr;
  std::size_t room_ VRAMSCOPE_GUARDED_BY(lock_) = 0;  // bytes free behind first_
};

// What a reader finds in the file.
struct FoundNames {
  RecorderFacts facts;
  bool is_cut = false;  // the file lacks some names
};
// header: the header of an image. Throws std::runtime_error if the names are damaged, or bad_alloc.
[[nodiscard]] FoundNames read_live_names(const LiveHeader& header, const LiveNames::Root& root);

}  // namespace vramscope
