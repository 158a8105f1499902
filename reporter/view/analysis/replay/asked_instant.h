// find_instant() finds the instant of a run that a person asks for: a time, the end, a mark that
// the program set, or the beginning of an NVTX range.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

// An instant that was asked for, or why a trace does not have it.
struct AskedInstant {
  enum class State : std::uint8_t {
    found,
    after_end,     // the time is after the trace's end
    range,         // an NVTX range has that name; find_range() looks for it
    unused_range,  // nothing was allocated in that range
    no_mark,       // nothing has that name; `known` has the names of the program's marks
    too_few,       // there are fewer marks of that name, or entries of the range, than `repetition`
    not_recorded,  // it set the mark, but its time is not known; `repetition` is the last known one
  };

  State state = State::found;
  std::uint64_t at_ns = 0;        // after time 0
  bool is_end = false;            // the end was asked for
  std::string mark = {};          // its name, or that of the range; "": a time or the end
  bool is_range = false;          // `mark` is a range
  std::uint64_t repetition = 0;   // its number among the marks of that name, from 1
  std::uint64_t repetitions = 0;  // marks of that name, or entries in which memory was allocated
  bool is_named = false;          // the repetition was asked for; else it is the last known one
  std::vector<std::string> known = {};

  [[nodiscard]] bool is_found() const { return state == State::found; }
};

// Takes "1.5s", "end", "step" for the last mark of that name, or "step#3" for the third one; where
// no mark has the name, for a range. A trace has the times of the first 512 marks, and of some
// later marks whose name repeats. The trace was followed once. May throw bad_alloc.
[[nodiscard]] AskedInstant find_instant(const TraceFollower& trace, std::string_view asked);

// Finds the entry of a range that find_instant() did not: its first allocation has not begun at
// that instant. Entries in which nothing was allocated are not seen. Follows the trace. Returns
// false on failure, as follow() does. May throw bad_alloc.
[[nodiscard]] bool find_range(TraceFollower& trace, AskedInstant& asked);

// The same as far as a report knows: no_mark if the program set no mark of that name, else found,
// although only a trace tells what was live then. May throw bad_alloc.
[[nodiscard]] AskedInstant find_instant(const Report& report, std::string_view asked);

}  // namespace vramscope
