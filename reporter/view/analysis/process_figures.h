// Figure is a number for the comparison of the processes of one run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/rank_facts.h"

namespace vramscope {

// What a process's trace tells of its device memory.
struct TracedPeak {
  std::uint64_t bytes = 0;  // the most of all devices together at one time
  std::uint64_t at_ns = 0;  // when, after its time 0
  std::map<std::uint16_t, std::uint64_t> devices = {};  // the most of each
};

struct ReportOfProcess {
  std::string file;
  MergedProcess process;
  bool is_merged = false;                      // the file is of several processes
  std::optional<TracedPeak> traced_peak = {};  // if its trace was followed
  // What peak_bounds() gives, once make_peaks_exact() has set it: the processes do not change then.
  std::optional<PeakBounds> peak = {};
  bool is_of_host = false;  // its host memory counts, not that of devices
  RankFacts facts = {};     // empty where its own report was not read
};

// Returns whether there are several processes, all of one executable.
[[nodiscard]] bool are_of_one_program(const std::vector<ReportOfProcess>& reports);

// Returns the numbers of the devices with memory of these kinds, as the process counts them.
[[nodiscard]] std::vector<std::uint16_t> devices_used(const std::vector<KindFacts>& kinds);

[[nodiscard]] bool is_of_host_memory(const KindFacts& kind);
// If no process has memory of a device, because of a filter or at all, host memory counts.
void choose_memory(std::vector<ReportOfProcess>& reports);
// Returns what it holds at the end.
[[nodiscard]] std::uint64_t held_by(const ReportOfProcess& one);

// Returns the bounds of the process alone, exact if its trace gives the peak.
[[nodiscard]] PeakBounds peak_bounds(const ReportOfProcess& one);

enum class FigureOf : std::uint8_t { peak, reserved, needed, left, host, allocations, time, kind };
// The fields of a process's row from which the figures are taken; those of kinds have none.
inline constexpr std::string_view kFigureFields[] = {"peak_bytes",
                                                     "reserved_of_all_kinds_bytes",
                                                     "needed_of_all_kinds_bytes",
                                                     "current_bytes",
                                                     "host_peak_bytes",
                                                     "allocations",
                                                     "allocating_ns"};

struct Figure {
  FigureOf what;
  std::string name;
  std::uint64_t (*of_process)(const ReportOfProcess& one) = nullptr;  // but of a kind
  Kind kind = Kind::device;                                           // of FigureOf::kind

  [[nodiscard]] std::uint64_t of(const ReportOfProcess& one) const;
  [[nodiscard]] std::string_view field() const {
    return kFigureFields[static_cast<std::size_t>(what)];
  }
  [[nodiscard]] bool is_peak() const { return what == FigureOf::peak; }
  [[nodiscard]] bool is_reserved() const { return what == FigureOf::reserved; }
  [[nodiscard]] bool is_left() const { return what == FigureOf::left; }
  [[nodiscard]] bool is_of_host() const { return what == FigureOf::host; }
  [[nodiscard]] bool is_of_kind() const { return what == FigureOf::kind; }
  [[nodiscard]] bool is_time() const { return what == FigureOf::time; }
  [[nodiscard]] bool is_bytes() const { return what != FigureOf::allocations && !is_time(); }
};

// Returns what is known of a figure that was highest at different times for its parts.
[[nodiscard]] PeakBounds figure_bounds(const ReportOfProcess& one, const Figure& figure);

// Returns the figures, the peak first.
[[nodiscard]] std::span<const Figure> figures_of_processes();
// Returns the peak of each kind that holds memory, over all devices of the process. A kind that a
// process has on several devices may have had less at one time.
[[nodiscard]] std::span<const Figure> figures_of_kinds();
[[nodiscard]] inline const Figure& peak_figure() { return figures_of_processes().front(); }

// A figure over all processes, and the processes with its extremes. Of several with the same
// number, the first by host, rank and process counts.
struct Spread {
  std::uint64_t least = 0;
  std::uint64_t median = 0;  // of an even number, the mean of the middle two
  std::uint64_t most = 0;
  std::size_t least_in = 0;   // index into the reports
  std::size_t median_in = 0;  // of an even number, the lower of the middle two
  std::size_t most_in = 0;
};
// Takes at least one report. May throw bad_alloc.
[[nodiscard]] Spread spread_of(const std::vector<ReportOfProcess>& reports, const Figure& figure);
// The same of numbers, one for each report.
[[nodiscard]] Spread spread_of(const std::vector<ReportOfProcess>& reports,
                               const std::vector<std::uint64_t>& numbers);

// Returns the middle of two numbers, rounded down.
[[nodiscard]] constexpr std::uint64_t middle_of(std::uint64_t low, std::uint64_t high) {
  return low + (high - low) / 2;
}

}  // namespace vramscope
