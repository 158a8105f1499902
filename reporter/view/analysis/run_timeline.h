// RunTimeline shows how a run's memory changed over a window of time, from a report's buckets or,
// exactly, from a trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/report.h"

namespace vramscope {

// All times are nanoseconds after recording began. Bytes are requested bytes.
struct RunCurve {
  Kind kind = Kind::device;  // `device` for the curve of all kinds
  std::uint16_t device = 0;
  std::string memory = {};       // for people; "": of one process
  bool is_of_all_kinds = false;  // all kinds that take memory of the device, if it had several
  bool is_snapshot = false;      // one value, of a snapshot without history
  std::uint64_t first_ns = 0;    // beginning of the first bucket
  std::uint64_t bucket_ns = 0;
  std::vector<std::uint64_t> highest = {};  // at any instant of the bucket
  std::vector<std::uint64_t> last = {};     // at the end of the bucket
  std::uint64_t most_bytes = 0;  // an upper bound for several processes, see add_bounds()

  // Returns the highest value between two instants. After the last bucket nothing changed.
  [[nodiscard]] std::uint64_t highest_between(std::uint64_t from, std::uint64_t to) const;
  // Returns the value at the end of the bucket that contains the instant.
  [[nodiscard]] std::uint64_t last_at(std::uint64_t instant) const;
};

struct RunMark {
  // reset: a context's memory ended. ended: one of several processes was killed, or died.
  enum class What : std::uint8_t { peak, refused, reset, ended };
  What what = What::peak;
  std::uint64_t at_ns = 0;
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::string memory = {};       // for people; "": of one process
  bool is_of_all_kinds = false;  // the peak of a curve of all kinds
  std::uint64_t bytes = 0;       // of the peak, or requested; 0: not known
  std::string text = {};  // for `reset` the function; for several processes which one, and its end
  // For the peak of a sum, of which only the bucket is known: it was before this. 0: it was at
  // at_ns.
  std::uint64_t until_ns = 0;
  bool is_bound = false;                         // of the peak of a sum: `bytes` is an upper bound
  std::optional<std::uint64_t> process_ns = {};  // for several processes: by the process's own
                                                 // clock
};

// When allocations were made in an NVTX range: from the first to the last, for each time that it
// was open, as far as allocations show.
struct RunRange {
  std::string name;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans = {};
};

struct RunTimeline {
  std::uint64_t start_ns = 0;   // of the run, since 1970
  std::uint64_t length_ns = 0;  // of the run
  std::uint64_t from_ns = 0;    // of the window
  std::uint64_t to_ns = 0;
  bool is_of_trace = false;
  bool is_snapshot = false;  // without history: each curve is one value, and no peak is known
  // For several processes: what the end of the timeline is. "": one process.
  std::string end_of_several = {};
  std::vector<RunCurve> curves;          // the highest peak in the window first
  std::vector<RunMark> marks;            // those in the window, by time
  std::vector<NamedInstant> named = {};  // marks that the program set, those in the window, by time
  std::uint64_t unnamed_marks = 0;  // marks that it set, inside or outside the window, and that
                                    // were not kept
  std::vector<RunRange> ranges;     // only from a trace
};

// The window that is asked for. Unset: the whole run.
struct TimelineChoice {
  std::optional<std::uint64_t> from_ns = {};
  std::optional<std::uint64_t> to_ns = {};
};

// Puts ranges that contain the highest peak first, since there may be no room for all.
void put_ranges_of_peak_first(RunTimeline& timeline);

// Sets the window and the order, and keeps only kinds that hold memory. Every RunTimeline needs it.
void choose(RunTimeline& timeline, const TimelineChoice& choice);

}  // namespace vramscope
