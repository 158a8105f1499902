// CounterSet holds what one thread counted, CounterSets what all threads counted: calls and times
// by function, device and tag.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "allocator/base/live_memory.h"
#include "reporter/base/event.h"
#include "reporter/record/counters.h"
#include "reporter/record/reach.h"

namespace vramscope {

// Each thread writes its own rows at every call. No cache line of a row belongs to two threads.
inline constexpr std::size_t kOwnLine = 64;

struct alignas(kOwnLine) FunctionCounters {
  Counter failures;
  DurationCounters time;
};

// Rows of functions with consecutive numbers. A thread calls few of all functions.
inline constexpr std::size_t kFunctionsTogether = 16;
using FunctionRows = std::array<std::atomic<FunctionCounters*>, kFunctionsTogether>;

// The members of Timing in the order of its visit().
struct alignas(kOwnLine) TimingCounters {
  std::atomic<std::uint64_t> generation{0};  // of the reset after which these counts began
  DurationCounters alloc_hit, alloc_driver, free_hit, free_driver, sync;

  template <class Self, class F>
  static void visit(Self& self, F&& f) {
    f(self.alloc_hit), f(self.alloc_driver), f(self.free_hit), f(self.free_driver), f(self.sync);
  }
};

// Rows are allocated at first use. With live memory the set and its rows lie there. At every
// instant a reader finds the counts before a call, the counts after it, or a mixture of both.
// Threads: one writer, any reader.
class alignas(kOwnLine) CounterSet {
 public:
  // live: the memory for rows, or null for the heap. May throw bad_alloc.
  CounterSet(std::size_t function_count, LiveMemory* live);
  ~CounterSet();  // sets in live memory are never destroyed
  CounterSet(const CounterSet&) = delete;
  CounterSet& operator=(const CounterSet&) = delete;

  // Counts an event. May throw bad_alloc before anything was counted. generation: CounterSets'
  // present one.
  void record(const Event& event, std::uint64_t generation);
  // Adds the nanoseconds of an allocating call to its tag. They are lost if memory is exhausted.
  void add_time(Tag tag, std::uint64_t ns) noexcept { newest(tag).sums.ns.add(ns); }
  // Counts an allocation that was freed before the thread allocated again.
  void add_temporary(Tag tag) noexcept { newest(tag).sums.temporary.add(1); }

  // The thread's sums for one tag.
  struct ByTag {
    std::uint64_t ns = 0;
    std::uint64_t temporary = 0;
  };
  // Adds to sums. If the thread records meanwhile, one call may count twice or not at all.
  void add_tags_to(std::vector<ByTag>& by_tag, const Reach& reach) const;
  void add_to(std::vector<FunctionTotals>& functions, const Reach& reach) const;
  // Adds the times of a slot: slot d is device d, kHostSlot the host. Returns whether the slot was
  // ever used.
  bool add_timing(std::size_t slot, std::uint64_t generation, Timing& sum,
                  const Reach& reach) const;

  static constexpr std::size_t kHostSlot = kMaxDevices;

 private:
  friend class CounterSets;
  struct TagSums {  // over all calls of the thread with the tag
    Counter ns;
    Counter temporary;

    void set(const ByTag& sums) noexcept {
      ns.set(sums.ns);
      temporary.set(sums.temporary);
    }
    [[nodiscard]] ByTag get() const noexcept { return {ns.get(), temporary.get()}; }
    void add_to(ByTag& sum) const noexcept {
      sum.ns += ns.get();
      sum.temporary += temporary.get();
    }
  };
  struct NewestTag {
    std::atomic<Tag> tag{0};
    TagSums sums;
  };
  static constexpr std::size_t kNewest = 64;
  static constexpr std::size_t kTags = 1024;  // of a row; kTags rows hold Recorder::kMaxTags
  using Tags = std::array<TagSums, kTags>;
  using AllTags = std::array<std::atomic<Tags*>, kTags>;

  void record_hit(const Event& event, FunctionCounters& function, TimingCounters& times);
  TimingCounters& timing(std::size_t slot, std::uint64_t generation);
  [[nodiscard]] NewestTag& newest(Tag tag) noexcept {
    NewestTag& newest = newest_tags_[tag % newest_tags_.size()];
    if (newest.tag.load(std::memory_order_relaxed) != tag) [[unlikely]]
      replace(newest, tag);
    return newest;
  }
  [[gnu::noinline]] void replace(NewestTag& newest, Tag tag) noexcept;
  [[nodiscard]] TagSums* kept_sums(Tag tag) noexcept;
  [[nodiscard]] ByTag sums_until_now(Tag tag) const noexcept;

  LiveMemory* const live_;  // readers of the file never follow this pointer
  const std::size_t function_count_;
  std::atomic<FunctionRows*>* const functions_;
  std::array<std::atomic<TimingCounters*>, kMaxDevices + 1> timings_{};
  std::array<NewestTag, kNewest> newest_tags_{};
  std::atomic<AllTags*> tags_{nullptr};  // the sums of all other tags
  const CounterSet* older_ = nullptr;
};

// The sets of all threads, and when the counts of times began anew. It lies where the sets lie.
// Threads: any reader; writers hold a lock.
class CounterSets {
 public:
  // Links a set, which is never removed.
  void add(CounterSet& set) noexcept {
    set.older_ = newest_.load(std::memory_order_relaxed);
    newest_.store(&set, std::memory_order_release);
  }
  // Begins a new generation and returns it: counts of earlier generations are ignored from now on,
  // and so are earlier totals of the host's timing.
  std::uint64_t begin_generation() noexcept;
  // Resets counts and totals of the host's timing to zero.
  void begin_host() noexcept;

  [[nodiscard]] std::vector<FunctionTotals> functions(std::size_t count, const Reach& reach) const;
  [[nodiscard]] std::vector<std::pair<std::uint16_t, Timing>> devices(const Reach& reach) const;
  [[nodiscard]] Timing host(const Reach& reach) const;
  void add_tags_to(std::vector<CounterSet::ByTag>& by_tag, const Reach& reach) const;

 private:
  template <class F>
  void each(const Reach& reach, F&& f) const;
  [[nodiscard]] bool timing(std::size_t slot, Timing& sum, const Reach& reach) const;
  void begin(std::uint64_t generation, const Timing& host_before) noexcept;

  std::atomic<const CounterSet*> newest_{nullptr};
  // The generation, and in the lowest bit the index of the element of `host_before_` to subtract:
  // one store changes both.
  std::atomic<std::uint64_t> resets_{0};
  std::array<Timing, 2> host_before_{};
};

}  // namespace vramscope
