// RangeTable keeps the named ranges that the program opened (NVTX) as paths, and knows the current
// range of each thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "allocator/base/capability.h"
#include "allocator/base/fork_mark.h"
#include "reporter/base/axes.h"
#include "reporter/record/mark_rows.h"

namespace vramscope {

struct RecorderFacts;

// A thread pushes and pops ranges; the process starts and ends them. An allocation belongs to the
// open range that was opened last, among those of the thread and those of the process. Names of
// ranges beyond kMax are not kept: those ranges count as "others". Threads: any.
class RangeTable {
 public:
  static constexpr std::size_t kMax = 4096;

  // The counts of ranges and marks in a live file, whose names lie elsewhere. Threads: one writer,
  // any reader.
  struct Counts {
    std::array<std::atomic<std::uint64_t>, kMax + 1> entered{};  // by number of the range
    std::atomic<std::uint64_t> marks{0};
    MarkRows rows;  // by name of the mark
  };
  // Is called without a lock after a range has got its number or a mark was kept.
  struct Watcher {
    void (*came)(void* context) noexcept = nullptr;
    void* context = nullptr;
    Counts* counts = nullptr;  // further counts, in addition to the table's; watch() copies the
                               // table's counts here
  };
  // Sets the watcher. Only the first call has an effect. Children of forks, however made, have no
  // watcher. A mark that another thread sets during the call may be missing in `counts`.
  void watch(const Watcher& watcher) noexcept;

  static constexpr std::size_t kMaxDepth = 32;  // deeper pushes are counted, but not kept apart
  static constexpr std::size_t kMaxName = MarkRows::kMaxName;  // bytes kept of a name

  RangeTable();  // may throw bad_alloc

  // Returns the depth of the new range, from 0 on.
  int push(std::string_view domain, std::string_view name) noexcept;
  // Returns the depth of the range that ended, or -1 if none was open.
  int pop(std::string_view domain) noexcept;
  // Returns the id for end(), which is never 0.
  [[nodiscard]] std::uint64_t start(std::string_view domain, std::string_view name) noexcept;
  void end(std::uint64_t id) noexcept;
  // Counts all marks, keeps the first kMostMarks with their names, and counts repeated ones by
  // name.
  static constexpr std::size_t kMostMarks = 512;
  void mark(std::uint64_t clock_ns, std::string_view domain, std::string_view name) noexcept;

  // Returns the calling thread's range: a number, 0 outside every range, or kOtherValue.
  [[nodiscard]] std::uint32_t current() const noexcept;
  // Returns ranges in the order of their numbers, from number `known` on. May throw bad_alloc.
  [[nodiscard]] std::vector<RangeFact> facts(std::size_t known = 0) const;
  // Returns the kept marks in their order, from index `known` on. May throw bad_alloc.
  [[nodiscard]] std::vector<MarkFact> kept_marks(std::size_t known = 0) const;
  // Copies ranges and marks with their counts. May throw bad_alloc.
  void copy_to(RecorderFacts& facts) const;

 private:
  struct Open {  // a range that a thread pushed
    std::uint32_t range;
    std::uint32_t domain;       // number of the domain's name
    std::uint64_t after_start;  // number of the last range that the process had started before
  };
  struct Thread {
    std::size_t depth;
    Open open[kMaxDepth];
  };
  struct Started {
    std::uint64_t id;
    std::uint32_t range;
  };
  [[nodiscard]] const Watcher* watched() const noexcept {
    return static_cast<const Watcher*>(watched_.get());
  }
  void tell_came(bool came) const noexcept;
  void count_entered(std::uint32_t number) VRAMSCOPE_REQUIRES(lock_);
  [[nodiscard]] std::uint32_t domain_number(std::string_view domain) VRAMSCOPE_REQUIRES(lock_);
  [[nodiscard]] std::uint32_t number_of(std::uint32_t parent, std::string_view domain,
                                        std::string_view name) VRAMSCOPE_REQUIRES(lock_);

  __attribute__((tls_model("initial-exec"))) static constinit thread_local Thread thread;
  mutable SystemMutex lock_;
  std::vector<RangeFact> ranges_ VRAMSCOPE_GUARDED_BY(lock_);
  std::map<std::tuple<std::uint32_t, std::string, std::string>, std::uint32_t> numbers_
      VRAMSCOPE_GUARDED_BY(lock_);
  std::map<std::string, std::uint32_t, std::less<>> domains_ VRAMSCOPE_GUARDED_BY(lock_);
  std::vector<Started> started_ VRAMSCOPE_GUARDED_BY(lock_);  // open ranges in the order of their
                                                              // starts
  std::uint64_t last_id_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
  // The last element of `started_`: its number among all starts, and its range.
  std::atomic<std::uint64_t> newest_start_{0};
  std::atomic<std::uint32_t> newest_range_{0};
  std::atomic<std::uint64_t> marks_{0};
  std::vector<MarkFact> kept_marks_ VRAMSCOPE_GUARDED_BY(lock_);
  MarkRows rows_ VRAMSCOPE_GUARDED_BY(lock_);
  Watcher watcher_;
  ForkMark watched_;  // points to watcher_ once that is set
};

}  // namespace vramscope
