// usage_bounds() returns what is known of a process's memory over time; sum_bounds() bounds what
// several processes held together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace vramscope {

struct KindFacts;
struct MergedProcess;

// A peak lies between `lower` and `upper`.
struct PeakBounds {
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
};

// A process held this many bytes from then on. Steps are sorted by time. All times are nanoseconds
// since 1970, or all are since the boot.
struct HeldStep {
  std::uint64_t at_ns = 0;
  std::uint64_t bytes = 0;
};
using HeldSteps = std::vector<HeldStep>;

// All chosen kinds of memory of one process together.
struct UsageBounds {
  // One kind did not change any more until the process ended, as far as is known.
  struct Still {
    std::uint64_t since_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t bytes = 0;
  };
  HeldSteps at_most;
  HeldSteps at_least;  // at these instants only
  std::vector<Still> still;
  std::uint64_t without_timeline = 0;  // the peaks of kinds of which nothing else is known
  std::uint64_t drift_ns = 0;          // by how much its two clocks may differ
};

using WantsKind = std::function<bool(const KindFacts&)>;
// Computes the bounds from the buckets of the process's timelines, which count since 1970. May
// throw bad_alloc.
[[nodiscard]] UsageBounds usage_bounds(const MergedProcess& process, const WantsKind& wants);

// Bounds the peak of the sum of processes of one host. Some are known exactly (`traced`) by one
// clock, the others within bounds. A process's dates may be slightly wrong: it reads two clocks one
// after another, that of dates up to `kLate` after its memory was read, and the clocks drift. May
// throw bad_alloc.
[[nodiscard]] PeakBounds sum_bounds(const std::vector<UsageBounds>& bounded,
                                    const std::vector<const HeldSteps*>& traced);
inline constexpr std::uint64_t kLate = 20'000'000;
inline constexpr std::uint64_t kEarly = 5'000'000;

}  // namespace vramscope
