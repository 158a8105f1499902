// How long a snapshot of a million blocks holds the allocator's lock at a time, and how long it
// takes: a line of JSON for each sort of memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "allocator/caching_allocator.h"
#include "test/bench/endless_backend.h"

namespace vramscope::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBlocks = 1'000'000;
constexpr Tag kTags = 20'000;
constexpr std::uint64_t kLargest = 4096;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

// The lock is held from the end of one call of `between` to the beginning of the next, or less.
// Whoever is preempted holds it for long by accident, in one pass: the least of each counts.
class Holds {
 public:
  [[nodiscard]] Snapshot take(const CachingAllocator& allocator) {
    at_ = 0;
    const Clock::time_point begin = Clock::now();
    last_ = begin;
    Snapshot taken = allocator.snapshot({.between = [this] {
      note(since(last_));
      last_ = Clock::now();
    }});
    whole_ns_ = std::min(whole_ns_, since(begin));
    return taken;
  }
  // The first is a look at how much there is, and making room for it.
  [[nodiscard]] double longest_ns() const {
    return *std::max_element(least_ns_.begin() + 1, least_ns_.end());
  }
  [[nodiscard]] std::size_t count() const { return least_ns_.size(); }
  [[nodiscard]] double whole_ns() const { return whole_ns_; }

 private:
  void note(double ns) {
    if (at_ == least_ns_.size()) least_ns_.push_back(ns);
    least_ns_[at_] = std::min(least_ns_[at_], ns);
    ++at_;
  }

  std::vector<double> least_ns_;
  std::size_t at_ = 0;
  Clock::time_point last_;
  double whole_ns_ = std::numeric_limits<double>::max();
};

void measure(const char* name, bool is_direct, int passes) {
  EndlessBackend backend(std::uint64_t{64} << 40);
  CachingAllocator allocator(backend, {});
  for (Tag tag = 1; tag <= kTags; ++tag) allocator.join(tag, {1 + tag % 100});
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    const Tag tag = 1 + static_cast<Tag>(i % kTags);
    const std::uint64_t bytes = 1 + i * 0x9E3779B97F4A7C15 % kLargest;
    if (is_direct) {
      static_cast<void>(allocator.adopt({}, 0x500000000000 + i * kLargest, bytes, tag));
    } else {
      static_cast<void>(allocator.allocate({.where = {}, .bytes = bytes, .tag = tag}));
    }
  }
  Holds holds;
  std::size_t blocks = 0;
  for (int pass = 0; pass < passes; ++pass) blocks = holds.take(allocator).blocks.size();
  std::printf(
      "{\"snapshot\": \"%s\", \"blocks\": %zu, \"tags\": %u, \"holds\": %zu, "
      "\"longest_hold_ns\": %.0f, \"whole_ns\": %.0f}\n",
      name, blocks, kTags, holds.count(), holds.longest_ns(), holds.whole_ns());
}

}  // namespace
}  // namespace vramscope::bench

int main(int argc, char** argv) {
  const int passes = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  vramscope::bench::measure("pools", false, passes);
  vramscope::bench::measure("direct", true, passes);
}
