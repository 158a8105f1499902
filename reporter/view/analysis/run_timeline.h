// RunTimeline is how a run's memory went over a window of time, from a report's buckets or,
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
  Kind kind = Kind::device;  // `device` where it is of all kinds
  std::uint16_t device = 0;
  std::string memory = {};       // for a reader; "": of one process
  bool is_of_all_kinds = false;  // that take memory of the device, of which it had several
  std::uint64_t first_ns = 0;    // when the first bucket begins
  std::uint64_t bucket_ns = 0;
  std::vector<std::uint64_t> highest = {};  // at any instant of the bucket
  std::vector<std::uint64_t> last = {};     // at its end
  std::uint64_t most_bytes = 0;  // of several processes, that it can have come to; add_bounds()

  // The highest between two instants. After the last bucket nothing changed any more.
  [[nodiscard]] std::uint64_t highest_between(std::uint64_t from, std::uint64_t to) const;
  // At the end of the bucket in which the instant lies.
  [[nodiscard]] std::uint64_t last_at(std::uint64_t instant) const;
};

struct RunMark {
  // reset: a context's memory ended; ended: a process of several was killed, or died.
  enum class What : std::uint8_t { peak, refused, reset, ended };
  What what = What::peak;
  std::uint64_t at_ns = 0;
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::string memory = {};       // likewise
  bool is_of_all_kinds = false;  // a peak of such a curve
  std::uint64_t bytes = 0;       // of the peak; asked for; 0: not known
  std::string text = {};  // the function, of a reset; of several processes which, and its end
  // Of the peak of a sum, of which a bucket is known: at most so much, before this. 0: it is at_ns.
  std::uint64_t until_ns = 0;
  std::optional<std::uint64_t> process_ns = {};  // of several processes: by the clock of its own
};

// When allocations were made in an NVTX range: from the first to the last of each time that it was
// open, as far as allocations tell.
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
  // Of several processes, whose memory counts until they "ended", or "wrote reports" before that;
  // "": of one.
  std::string end_of_several = {};
  std::vector<RunCurve> curves;          // the highest peak in the window first
  std::vector<RunMark> marks;            // in the window, by time
  std::vector<NamedInstant> named = {};  // marks that the program set, in the window, by time
  std::uint64_t unnamed_marks = 0;       // that it set, in or out of it, and nobody kept
  std::vector<RunRange> ranges;          // of a trace
};

// The window that is asked for. Unset: all of the run.
struct TimelineChoice {
  std::optional<std::uint64_t> from_ns = {};
  std::optional<std::uint64_t> to_ns = {};
};

// Ranges in which the highest peak was come first: there may be no room for all.
void put_ranges_of_peak_first(RunTimeline& timeline);

// Sets the window and the order, and leaves what memory is held. For all that makes a RunTimeline.
void choose(RunTimeline& timeline, const TimelineChoice& choice);

}  // namespace vramscope
