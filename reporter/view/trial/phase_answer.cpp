// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/phase_answer.h"

#include <algorithm>

#include "reporter/view/trial/fit_answer.h"

namespace vramscope {
namespace {

bool is_same_peak(std::uint64_t a, std::uint64_t b) {
  const auto [less, more] = std::minmax(a, b);
  return static_cast<double>(more - less) <= kSamePeak * static_cast<double>(more);
}

// Which repetitions are shown.
std::vector<std::size_t> spread(std::size_t count) {
  std::vector<std::size_t> chosen;
  const std::size_t rows = std::min(count, kMostPhaseRows);
  for (std::size_t i = 0; i < rows; ++i) chosen.push_back(i * (count - 1) / (rows - 1));
  return chosen;
}

// The first steps of a trace.
TrialSteps until(const TrialSteps& trace, std::size_t end) {
  TrialSteps part = trace;
  part.steps.resize(end);
  return part;
}

// Fills in the least capacities of rows[first..last], whose ends are known, if those in between
// differ: more of a run never needs less.
class LeastSearch {
 public:
  LeastSearch(const TrialSteps& trace, const TrialRow& row, const TellShare& tell,
              std::vector<std::size_t> ends, std::vector<PhaseRow>& rows)
      : trace_(trace), row_(row), tell_(tell), ends_(std::move(ends)), rows_(rows) {}

  void run() {
    find(0);
    find(rows_.size() - 1);
    between(0, rows_.size() - 1);
  }

 private:
  void find(std::size_t i) {
    rows_[i].least_bytes = least_memory(until(trace_, ends_[i]), row_, Sought::capacity, tell_);
  }
  void between(std::size_t first, std::size_t last) {
    if (last - first < 2) return;
    if (rows_[first].least_bytes == rows_[last].least_bytes) {
      for (std::size_t i = first + 1; i < last; ++i) {
        rows_[i].least_bytes = rows_[first].least_bytes;
      }
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    find(middle);
    between(first, middle);
    between(middle, last);
  }

  const TrialSteps& trace_;
  const TrialRow& row_;
  const TellShare& tell_;
  const std::vector<std::size_t> ends_;
  std::vector<PhaseRow>& rows_;
};

// A mark whose time is not known begins a repetition within the one before.
std::vector<std::uint64_t> last_of_each(const TrialPhase& phase) {
  std::vector<std::uint64_t> lasts;
  for (std::size_t i = 1; i < phase.numbers.size(); ++i) lasts.push_back(phase.numbers[i] - 1);
  lasts.push_back(phase.is_mark ? std::max(phase.marks, phase.numbers.back())
                                : phase.numbers.back());
  return lasts;
}

}  // namespace

PhaseCourse course_of(const std::vector<std::uint64_t>& peaks,
                      const std::vector<std::uint64_t>& lasts) {
  const std::size_t count = peaks.size();
  std::size_t warm_up = count;
  std::uint64_t least = UINT64_MAX, most = 0;
  while (warm_up > 0) {
    least = std::min(least, peaks[warm_up - 1]);
    most = std::max(most, peaks[warm_up - 1]);
    if (!is_same_peak(least, most)) break;
    --warm_up;
  }
  if (count - warm_up >= std::max<std::size_t>(2, (count + 1) / 2)) {
    return {.trend = PhaseTrend::constant, .warm_up = warm_up == 0 ? 0 : lasts[warm_up - 1]};
  }
  const std::size_t half = count / 2;
  std::size_t falls = 0;
  for (std::size_t i = half + 1; i < count; ++i) falls += peaks[i] < peaks[i - 1] ? 1 : 0;
  const bool grows = peaks.back() > peaks[half] && !is_same_peak(peaks[0], peaks.back()) &&
                     falls * 4 <= count - half;
  if (!grows) return {.trend = PhaseTrend::varies};
  return {.trend = PhaseTrend::grows,
          .growth_bytes = (peaks.back() - peaks[half]) / (lasts.back() - lasts[half])};
}

PhaseAnswer follow_phase(const TrialSteps& trace, const TrialRow& row, const TrialPhase& phase,
                         const TellShare& tell) {
  const std::vector<std::uint64_t>& begins = phase.begins;
  TrialProgress progress;
  std::vector<TrialPeaks> peaks = play_parts(trace, row.settings, begins, progress);
  PhaseAnswer answer{.rows = {}, .repetitions = begins.size(), .requested = {}, .reserved = {}};
  answer.fits = !peaks.empty();
  if (!answer.fits) {
    peaks = play_parts(trace, without_end(row.settings), begins, progress);
  }
  std::vector<std::uint64_t> requested, reserved;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    requested.push_back(peaks[i + 1].requested_bytes);
    reserved.push_back(peaks[i + 1].reserved_bytes);
  }
  const std::vector<std::uint64_t> lasts = last_of_each(phase);
  answer.requested = course_of(requested, lasts);
  answer.reserved = course_of(reserved, lasts);
  std::vector<std::size_t> ends;
  for (const std::size_t i : spread(begins.size())) {
    const std::size_t first = std::min(begins[i], trace.steps.size() - 1);
    answer.rows.push_back(
        {.number = phase.numbers[i], .begin_ns = trace.steps[first].at_ns, .peaks = peaks[i + 1]});
    ends.push_back(i + 1 < begins.size() ? begins[i + 1] : trace.steps.size());
  }
  LeastSearch(trace, row, tell, ends, answer.rows).run();
  return answer;
}

}  // namespace vramscope
