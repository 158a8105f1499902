// LiveNames writes what tags and numbers mean into the live file, each as it appears.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "allocator/ground/capability.h"
#include "allocator/ground/live_memory.h"
#include "reporter/ground/facts.h"
#include "reporter/record/trace/fact_code.h"

namespace vramscope {

// Facts of LivePart::names besides those of traces (FactType).
enum class LiveFact : std::uint8_t {
  tag_groups = 64,  // of the tag with that number: sampling, groups by axis
  warning,
  mark,
};

// The last change of each, by its number among all.
struct NameChanges {
  std::uint64_t modules = 0;
  std::uint64_t threads = 0;
  std::uint64_t streams = 0;
};

// What of it has been told.
struct ToldNames {
  KnownNames known;
  std::size_t sources = 0;
  std::size_t codes = 0;
  std::size_t ranges = 0;
  std::size_t marks = 0;
  std::size_t warnings = 0;
  NameChanges changes;
};

// What is to be told next.
struct NewNames {
  RecorderFacts facts;  // from the first on that was not told
  Numbered<ModuleFact> modules;
  Numbered<ThreadFact> threads;
  Numbered<StreamFact> streams;
  NameChanges changes;
};

// Threads: any.
class LiveNames {
 public:
  // In live memory.
  struct Root {
    std::atomic<std::uint64_t> bytes{0};  // facts up to there are whole
    std::atomic<std::uint32_t> tags{0};   // given so far, told or not
    std::atomic<std::uint32_t> is_full{0};
  };
  // A program with more names than fit has generated code.
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  LiveNames(LiveMemory* live, Root& root, std::size_t most_bytes = kMostBytes) noexcept
      : live_(live), root_(root), most_bytes_(most_bytes) {}

  [[nodiscard]] bool is_live() const noexcept { return live_ != nullptr; }

  // collect(ToldNames) gives what is new since. When this returns, whoever reads the file finds it,
  // whichever thread told it. May throw bad_alloc: then it is told the next time.
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
  std::size_t room_ VRAMSCOPE_GUARDED_BY(lock_) = 0;  // bytes, from there on
};

// What a reader of the file finds.
struct FoundNames {
  RecorderFacts facts;
  bool is_cut = false;  // the file has not all that was told
};
// `header`: of an image. Throws std::runtime_error when the names are damaged; bad_alloc.
[[nodiscard]] FoundNames read_live_names(const LiveHeader& header, const LiveNames::Root& root);

}  // namespace vramscope
