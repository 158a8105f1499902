// held_bounds() says what is known of a process's memory over time, sum_bounds() what several may
// have held together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace vramscope {

struct KindFacts;
struct MergedProcess;

// A peak is not below `lower` and not above `upper`.
struct PeakBounds {
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
};

// A process held so many bytes from then on. Steps are by time. Times are nanoseconds since 1970,
// or all of them since the boot.
struct HeldStep {
  std::uint64_t at_ns = 0;
  std::uint64_t bytes = 0;
};
using HeldSteps = std::vector<HeldStep>;

// All chosen kinds of memory of one process together.
struct HeldBounds {
  // Of one kind nothing changed any more until the process ended, as far as that is known.
  struct Still {
    std::uint64_t since_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t bytes = 0;
  };
  HeldSteps at_most;
  HeldSteps at_least;  // at these instants alone
  std::vector<Still> still;
  std::uint64_t without_timeline = 0;  // the peaks of kinds of which no more is known
  std::uint64_t drift_ns = 0;          // by which its two clocks may have gone apart
};

using WantsKind = std::function<bool(const KindFacts&)>;
// From the buckets of its timelines, which count since 1970. May throw bad_alloc.
[[nodiscard]] HeldBounds held_bounds(const MergedProcess& process, const WantsKind& wants);

// The peak of the sum of processes of one host, of which some are known exactly (`traced`), by one
// clock, the others within bounds. A process's dates may be wrong by a little: it reads two clocks
// one after the other, that of dates up to `kLate` after its memory was read, and they drift. May
// throw bad_alloc.
[[nodiscard]] PeakBounds sum_bounds(const std::vector<HeldBounds>& bounded,
                                    const std::vector<const HeldSteps*>& traced);
inline constexpr std::uint64_t kLate = 20'000'000;
inline constexpr std::uint64_t kEarly = 5'000'000;

}  // namespace vramscope
