// ThreadCounters gives each thread its own set of counters.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/base/capability.h"
#include "reporter/base/event.h"
#include "reporter/record/counter_set.h"
#include "reporter/record/kept.h"
#include "reporter/record/trace/trace.h"

namespace vramscope {

// Threads: any. A set outlives its thread. A later thread takes it over with its counts.
class ThreadCounters {
 public:
  // live: the memory for sets, or null for the heap. `all` outlives this object. May throw
  // bad_alloc.
  ThreadCounters(std::size_t function_count, LiveMemory* live, CounterSets& all);

  void enter();                     // takes the calling thread's set; may throw bad_alloc
  void record(const Event& event);  // may throw bad_alloc
  // Notes that the thread freed its last allocation. Call it after record() of the free.
  void count_temporary(Tag tag) noexcept;
  // Adds to the calling thread's own lane. May throw bad_alloc.
  void add_to(Trace& trace, const TraceEvent& event);

  [[nodiscard]] Timing host() const;
  // reset_timing() resets the timing of devices and host; reset_host_accumulated() resets the
  // host's timing except its minimum and maximum.
  void reset_timing() noexcept;
  void reset_host_accumulated() noexcept;

 private:
  // What a living thread has, or an ended one had. It always lies on the heap: an ending thread
  // writes here, also in a forked child, which has no live memory.
  struct Owned {
    Owned(std::size_t function_count, LiveMemory* live);
    Kept<CounterSet> set;
    TraceLane* lane = nullptr;
    std::atomic<bool> is_taken{true};
  };
  struct Pool {  // shared with the threads: the last of them to end frees it
    std::size_t function_count = 0;
    LiveMemory* live = nullptr;
    CounterSets* all = nullptr;
    SystemMutex lock;
    std::vector<std::unique_ptr<Owned>> sets VRAMSCOPE_GUARDED_BY(lock);
    // For threads whose own set is gone (in their last destructors). The lock admits one writer at
    // a time.
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
