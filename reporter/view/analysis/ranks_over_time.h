// ranks_over_time() lays the memory of the processes of a job over each other on one axis of time:
// median and band, and the processes that are far from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/analysis/run_timeline.h"

namespace vramscope {

// What time 0 is. start: for each process its own start. wall: the start of the first process, by
// the clocks of the hosts. automatic: wall if the processes began within a minute of each other and
// none began after the longest run was over; else start.
#define VRAMSCOPE_RANK_CLOCKS(X) X(automatic) X(start) X(wall)
VRAMSCOPE_NAMED_ENUM(RankClock, std::uint8_t, VRAMSCOPE_RANK_CLOCKS);
[[nodiscard]] std::optional<RankClock> rank_clock_of(std::string_view name);

// wall or start, as automatic chooses for these processes.
[[nodiscard]] RankClock common_clock(const std::vector<ReportOfProcess>& reports);

// One process. Bytes are requested bytes of all its devices together, or of the host if no process
// has memory of a device.
struct RankCurve {
  std::size_t which = 0;       // index into the reports
  std::uint64_t first_ns = 0;  // when it began
  std::uint64_t end_ns = 0;    // when it ended, or when its report was written
  std::size_t first = 0;       // the steps in which it ran
  std::size_t end = 0;
  std::vector<std::uint64_t> highest = {};  // in each of these steps
  std::uint64_t peak_bytes = 0;             // in the window; an upper bound unless is_exact
  std::uint64_t peak_ns = 0;                // when; the beginning of its step if not known exactly
  bool is_exact = false;
  std::vector<bool> is_far = {};  // from the median, in each of these steps
  // How far it is from the median in the step where that is most; 0: it is never far from it.
  std::uint64_t apart_bytes = 0;
  bool is_above = false;
  std::uint64_t apart_ns = 0;      // the beginning of that step
  std::uint64_t then_bytes = 0;    // its own in that step
  std::uint64_t median_bytes = 0;  // the median's in that step
};

// All processes that ran in an interval of time. Percentiles are values of processes: low is the
// least that at least a tenth of them do not exceed, high the same of nine tenths.
struct RankStep {
  std::uint64_t from_ns = 0;
  std::size_t ranks = 0;
  std::uint64_t least = 0;
  std::uint64_t low = 0;
  std::uint64_t median = 0;  // of an even number the mean of the middle two
  std::uint64_t high = 0;
  std::uint64_t most = 0;
};

struct RanksOverTime {
  RankClock clock = RankClock::start;  // never automatic
  std::uint64_t start_ns = 0;          // of time 0, since 1970; 0: each process has its own
  std::uint64_t length_ns = 0;         // until the last process ended
  std::uint64_t from_ns = 0;           // of the window
  std::uint64_t to_ns = 0;
  std::uint64_t step_ns = 0;
  bool is_of_host = false;
  std::vector<RankStep> steps = {};
  std::vector<RankCurve> ranks = {};  // the farthest from the median first, the others by the order
                                      // of the reports
  std::size_t far = 0;                // how many of these are far from it
  std::size_t untimed = 0;            // processes left out, since their reports have no timeline
};

struct RanksChoice {
  RankClock clock = RankClock::automatic;
  TimelineChoice window = {};
  std::size_t steps = 0;  // at least 1
};

// A process is far from the median where it is more than a tenth of the median's peak away, 1 MiB
// at least, and more than three times as far as half of the processes are; in two steps, or in the
// one with its peak. Of the medians of a step and its neighbours the nearest counts. A median is of
// three processes at least. The curve of a process that had several kinds of memory is exact if it
// has its trace, which is then read, and used one device; else their sum is an upper bound. May
// throw bad_alloc.
[[nodiscard]] RanksOverTime ranks_over_time(const std::vector<ReportOfProcess>& reports,
                                            const RanksChoice& choice);

}  // namespace vramscope
