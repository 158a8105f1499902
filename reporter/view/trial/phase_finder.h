// PhaseFinder finds where the repetitions of a range or a mark begin, while a trace is read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/traces/trace_reader.h"

namespace vramscope {

// The known times of the marks of one name, by number from 1.
struct KnownMarks {
  std::map<std::uint64_t, std::uint64_t> clocks_ns = {};
  std::uint64_t all = 0;
};
[[nodiscard]] KnownMarks marks_named(const RecorderFacts& facts, std::string_view name);

// A part of a run that repeats, by the name that the program gave it.
struct TrialPhase {
  std::string name = {};              // as name_of() has it
  std::vector<std::uint64_t> begins;  // steps with which its repetitions begin
  std::vector<std::uint64_t>
      numbers;                     // of these repetitions, from 1; the times of some are not known
  bool is_mark = false;            // a mark begins each, else a range has it
  std::uint64_t marks = 0;         // how often it was set, or the range was entered; 0: not known
  std::vector<std::string> known;  // names that are marked or entered more than once
};

// "domain:name"; in the default domain "name".
[[nodiscard]] std::string name_of(const RangeFact& range);

// A mark begins a repetition at its time. Of a range a trace says only which allocations were made
// in it: a repetition begins with the first one behind one of the same thread that was not.
// Threads: one. All members may throw bad_alloc.
class PhaseFinder {
 public:
  // names outlive this object; phase, too: null: nothing is sought.
  PhaseFinder(const TraceNames& names, TrialPhase* phase);

  // An event that begins then; `step` is the next step.
  void at(std::uint64_t clock_ns, std::uint64_t step) {
    while (next_ < clocks_.size() && clocks_[next_] <= clock_ns) begin(step);
  }
  void allocated(std::uint32_t thread, Tag tag, std::uint64_t step);

 private:
  void find_marks();
  void find_ranges();
  void list_known();
  void begin(std::uint64_t step);
  [[nodiscard]] bool is_inside(Tag tag) const;

  const TraceNames& names_;
  TrialPhase* const phase_;
  std::vector<std::uint64_t> clocks_;    // of the marks
  std::vector<std::uint64_t> numbers_;   // of the marks
  std::size_t next_ = 0;                 // of these
  std::vector<bool> ranges_;             // which lie in it; {}: none
  std::optional<std::uint32_t> thread_;  // the first that was in it
  bool is_in_ = false;
};

}  // namespace vramscope
