// ThreadCounters has one set of counters for each thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/ground/capability.h"
#include "reporter/ground/event.h"
#include "reporter/record/counter_set.h"
#include "reporter/record/kept.h"
#include "reporter/record/trace/trace.h"

namespace vramscope {

// Threads: any. A set outlives its thread and is taken over, with its counts, by a later one.
class ThreadCounters {
 public:
  // live: null, or where sets are made. `all` outlives this. May throw bad_alloc.
  ThreadCounters(std::size_t function_count, LiveMemory* live, CounterSets& all);

  void enter();                     // takes the thread's set; may throw bad_alloc
  void record(const Event& event);  // may throw bad_alloc
  // The thread freed what it allocated last. After record() of that.
  void count_temporary(Tag tag) noexcept;
  // To the calling thread's own lane. May throw bad_alloc.
  void add_to(Trace& trace, const TraceEvent& event);

  [[nodiscard]] Timing host() const;
  // From now on nothing was timed: of devices and the host; of the host, but its shortest and
  // longest.
  void reset_timing() noexcept;
  void reset_host_accumulated() noexcept;

 private:
  // What a living thread has, or had. On the heap always: a thread that ends writes here, in a
  // forked child too, where live memory is not.
  struct Owned {
    Owned(std::size_t function_count, LiveMemory* live);
    Kept<CounterSet> set;
    TraceLane* lane = nullptr;
    std::atomic<bool> is_taken{true};
  };
  struct Pool {  // shared with the threads: whichever ends last frees it
    std::size_t function_count = 0;
    LiveMemory* live = nullptr;
    CounterSets* all = nullptr;
    SystemMutex lock;
    std::vector<std::unique_ptr<Owned>> sets VRAMSCOPE_GUARDED_BY(lock);
    // For a thread whose own set is gone (its last destructors), one writer at a time.
    SystemMutex late_lock;
    std::unique_ptr<Owned> late;

    Owned* take();
  };
  struct Slot;
  struct Reaper;

  CounterSet* own_set();
  [[gnu::noinline]] CounterSet* take_set();

  static thread_local constinit Slot slot_;
  std::shared_ptr<Pool> pool_;
  std::atomic<std::uint64_t> generation_{0};
  CounterSets& all_;
  mutable SystemMutex resets_lock_;
};

}  // namespace vramscope
