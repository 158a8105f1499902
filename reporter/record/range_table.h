// RangeTable keeps the named ranges that the program opened (NVTX) as paths, and knows which one a
// thread is in.
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

#include "allocator/ground/capability.h"
#include "allocator/ground/fork_mark.h"
#include "reporter/ground/axes.h"
#include "reporter/record/mark_rows.h"

namespace vramscope {

struct RecorderFacts;

// A thread pushes and pops; the process starts and ends. What is allocated belongs to the range
// that was opened last, of the thread's and of those of the process that are still open. Names of
// further ranges than kMax are not kept: they are "others". Threads: any.
class RangeTable {
 public:
  static constexpr std::size_t kMax = 4096;

  // What a live file has of ranges besides their names, and of marks. Threads: one writer, any
  // reader.
  struct Counts {
    std::array<std::atomic<std::uint64_t>, kMax + 1> entered{};  // by number
    std::atomic<std::uint64_t> marks{0};
    MarkRows rows;  // of marks, by name
  };
  // Called after a range has got its number, or a mark is kept, without a lock.
  struct Watcher {
    void (*came)(void* context) noexcept = nullptr;
    void* context = nullptr;
    Counts* counts = nullptr;  // where to count from now on too, with what was counted before
  };
  // Once; a later one is ignored. In children of forks, however made, nobody watches. A mark that
  // another thread sets meanwhile may be missing in `counts`.
  void watch(const Watcher& watcher) noexcept;

  static constexpr std::size_t kMaxDepth = 32;  // pushes below that are counted, not kept apart
  static constexpr std::size_t kMaxName = MarkRows::kMaxName;  // bytes kept of a name

  RangeTable();  // may throw bad_alloc

  // The depth of the range, from 0 on.
  int push(std::string_view domain, std::string_view name) noexcept;
  // The depth of the range that ended; -1: there was none.
  int pop(std::string_view domain) noexcept;
  // Gives what end() takes; never 0.
  [[nodiscard]] std::uint64_t start(std::string_view domain, std::string_view name) noexcept;
  void end(std::uint64_t id) noexcept;
  // The first kMostMarks are kept with their names, all are counted, those that repeat by name.
  static constexpr std::size_t kMostMarks = 512;
  void mark(std::uint64_t clock_ns, std::string_view domain, std::string_view name) noexcept;

  // The calling thread's: 0 outside every range, or kOtherValue.
  [[nodiscard]] std::uint32_t current() const noexcept;
  // By number, from the first on that is not known; may throw bad_alloc.
  [[nodiscard]] std::vector<RangeFact> facts(std::size_t known = 0) const;
  // Those that are kept, in their order, from the first on that is not known; may throw bad_alloc.
  [[nodiscard]] std::vector<MarkFact> kept_marks(std::size_t known = 0) const;
  // Ranges and marks, and how often there were; may throw bad_alloc.
  void copy_to(RecorderFacts& facts) const;

 private:
  struct Open {  // of a thread
    std::uint32_t range;
    std::uint32_t domain;       // number of its name
    std::uint64_t after_start;  // starts of the process before it
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
  std::vector<Started> started_ VRAMSCOPE_GUARDED_BY(lock_);  // open ones, in their order
  std::uint64_t last_id_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
  // The last of `started_`: its number among the starts, and its range.
  std::atomic<std::uint64_t> newest_start_{0};
  std::atomic<std::uint32_t> newest_range_{0};
  std::atomic<std::uint64_t> marks_{0};
  std::vector<MarkFact> kept_marks_ VRAMSCOPE_GUARDED_BY(lock_);
  MarkRows rows_ VRAMSCOPE_GUARDED_BY(lock_);
  Watcher watcher_;
  ForkMark watched_;  // it, once it is set
};

}  // namespace vramscope
