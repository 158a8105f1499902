// ThreadCounters has one set of counters for each thread, and adds them up for a report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/ground/capability.h"
#include "reporter/record/counters.h"
#include "reporter/record/event.h"
#include "reporter/record/tag_times.h"
#include "reporter/record/trace/trace.h"

namespace vramscope {

struct FunctionCounters {
  Counter failures;
  DurationCounters time;
};

// The members of Timing in the order of its visit().
struct TimingCounters {
  std::atomic<std::uint64_t> generation{0};  // of the reset that these counts belong to
  DurationCounters alloc_hit, alloc_driver, free_hit, free_driver, sync;

  template <class F>
  void visit(F&& f) {
    f(alloc_hit), f(alloc_driver), f(free_hit), f(free_driver), f(sync);
  }
};

// What one thread counted. Rows appear when first used. Threads: one writer, any reader.
class CounterSet {
 public:
  explicit CounterSet(std::size_t function_count) : functions_(function_count) {}
  ~CounterSet();

  // May throw bad_alloc, before anything was counted.
  void record(const Event& event, std::uint64_t generation);
  // Time of an allocating call by tag: kept here while few tags take turns, so that most calls need
  // no locked instruction; what has to make room goes to `times`.
  void add_time(Tag tag, std::uint64_t ns, TagTimes& times) noexcept;
  // Adds what is kept here, by tag. While the thread records, one call may count twice or not yet.
  void add_times_to(std::vector<std::uint64_t>& by_tag) const noexcept;
  void add_to(std::vector<FunctionTotals>& functions) const noexcept;
  // Slot d is device d, slot kMaxDevices the host.
  void add_timing(std::size_t slot, std::uint64_t generation, Timing& sum) const noexcept;
  [[nodiscard]] bool has_timing(std::size_t slot) const noexcept;

  static constexpr std::size_t kHostSlot = kMaxDevices;

 private:
  friend class ThreadCounters;
  TraceLane* lane_ = nullptr;  // the writer's
  TimingCounters& timing(std::size_t slot, std::uint64_t generation);

  std::vector<std::atomic<FunctionCounters*>> functions_;
  std::array<std::atomic<TimingCounters*>, kMaxDevices + 1> timings_{};
  struct TagTime {
    std::atomic<Tag> tag{0};
    Counter ns;
  };
  std::array<TagTime, 64> tag_times_{};
  std::atomic<bool> taken_{true};  // by a living thread
};

// Threads: any. A set outlives its thread and is taken over, with its counts, by a later one.
class ThreadCounters {
 public:
  explicit ThreadCounters(std::size_t function_count);

  void enter();                     // takes the thread's set; may throw bad_alloc
  void record(const Event& event);  // may throw bad_alloc
  // May throw bad_alloc.
  void add_time(Tag tag, std::uint64_t ns, TagTimes& times);
  void add_times_to(std::vector<std::uint64_t>& by_tag) const;
  // To the calling thread's own lane. May throw bad_alloc.
  void add_to(Trace& trace, const TraceEvent& event);
  [[nodiscard]] std::vector<FunctionTotals> functions() const;
  [[nodiscard]] std::vector<std::pair<std::uint16_t, Timing>> devices() const;
  [[nodiscard]] Timing host() const;
  void reset_timing() noexcept { generation_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Pool {  // shared with the threads: whichever ends last frees it
    std::size_t function_count = 0;
    SystemMutex lock;
    std::vector<std::unique_ptr<CounterSet>> sets VRAMSCOPE_GUARDED_BY(lock);
    // For a thread whose own set is gone (its last destructors), one writer at a time.
    SystemMutex late_lock;
    std::unique_ptr<CounterSet> late;

    CounterSet* take();
    void give_back(CounterSet* set) noexcept;
  };
  struct Slot;
  struct Reaper;

  CounterSet* own_set();
  [[gnu::noinline]] CounterSet* take_set();
  template <class F>
  void each_set(F&& f) const;
  [[nodiscard]] bool timing(std::size_t slot, Timing& sum) const;

  static thread_local constinit Slot slot_;
  std::shared_ptr<Pool> pool_;
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace vramscope
