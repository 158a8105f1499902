// Counter and DurationCounters have one writing thread and any number of readers. They need no
// locked instruction and lose no count.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "reporter/base/facts.h"

namespace vramscope {

// Threads: one writer, any reader.
class Counter {
 public:
  void add(std::uint64_t amount) noexcept { set(get() + amount); }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  // Adds with release order: a reader of the new value sees everything that the thread wrote
  // before.
  void publish(std::uint64_t amount) noexcept {
    value_.store(get() + amount, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// A Duration that a thread still adds to. Its count is the sum of its histogram, which saves one
// counter. Threads: one writer, any reader.
class DurationCounters {
 public:
  DurationCounters() noexcept { min_.set(kUnset); }

  void add(std::uint64_t ns) noexcept { add(ns, histogram_bucket(ns)); }
  // `at` is histogram_bucket(ns), for callers that add the same time to several counters.
  void add(std::uint64_t ns, std::size_t at) noexcept {
    Counter& bucket = histogram_[at];
    if (ns < min_.get()) min_.set(ns);
    if (ns > max_.get()) max_.set(ns);
    total_.add(ns);
    bucket.publish(1);  // last: a counted time is in the other values
  }

  void clear() noexcept {
    for (Counter& bucket : histogram_) bucket.set(0);
    total_.set(0);
    min_.set(kUnset);
    max_.set(0);
  }

  void add_to(Duration& sum) const noexcept {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < kHistogramBuckets; ++i) {
      const std::uint64_t here = histogram_[i].get();
      sum.histogram[i] += here;
      count += here;
    }
    if (count == 0) return;
    const std::uint64_t min = min_.get();
    sum.min_ns = sum.count == 0 ? min : std::min(sum.min_ns, min);
    sum.max_ns = std::max(sum.max_ns, max_.get());
    sum.total_ns += total_.get();
    sum.count += count;
  }

 private:
  static constexpr std::uint64_t kUnset = ~0ULL;

  std::array<Counter, kHistogramBuckets> histogram_;
  Counter total_, min_, max_;
};

}  // namespace vramscope
