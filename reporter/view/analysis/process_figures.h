// Figure is a number by which the processes of one run are compared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/device_sum.h"

namespace vramscope {

struct ReportOfProcess {
  std::string file;
  MergedProcess process;
  bool is_merged = false;  // the file is of several processes
  // The most of device memory that it held at one time, where its trace tells.
  std::optional<std::uint64_t> traced_peak = {};
  bool is_of_host = false;  // what it held of host memory counts, not of devices
};

// The numbers of the devices with memory of these kinds, as the process counts them.
[[nodiscard]] std::vector<std::uint16_t> devices_used(const std::vector<KindFacts>& kinds);

[[nodiscard]] bool is_of_host_memory(const KindFacts& kind);
// Where none of them has memory of a device, because of a filter or by itself, host memory counts.
void choose_memory(std::vector<ReportOfProcess>& reports);
// What it holds in the end.
[[nodiscard]] std::uint64_t held_by(const ReportOfProcess& one);

// As of the process alone, but exact where its trace tells.
[[nodiscard]] PeakBounds peak_bounds(const ReportOfProcess& one);

enum class FigureOf : std::uint8_t { peak, reserved, needed, left, host, allocations };
// The fields of a process's row that they are taken from.
inline constexpr std::string_view kFigureFields[] = {"peak_bytes",        "reserved_peak_bytes",
                                                     "needed_most_bytes", "current_bytes",
                                                     "host_peak_bytes",   "allocations"};

struct Figure {
  FigureOf what;
  const char* name;
  std::uint64_t (*of)(const ReportOfProcess& one);

  [[nodiscard]] std::string_view field() const {
    return kFigureFields[static_cast<std::size_t>(what)];
  }
  [[nodiscard]] bool is_peak() const { return what == FigureOf::peak; }
  [[nodiscard]] bool is_reserved() const { return what == FigureOf::reserved; }
  [[nodiscard]] bool is_left() const { return what == FigureOf::left; }
  [[nodiscard]] bool is_of_host() const { return what == FigureOf::host; }
  [[nodiscard]] bool is_bytes() const { return what != FigureOf::allocations; }
};

// The peak first.
[[nodiscard]] std::span<const Figure> figures_of_processes();
[[nodiscard]] inline const Figure& peak_figure() { return figures_of_processes().front(); }

// A figure of each process, and whose is the highest; of several that have the same number, the one
// that comes first by host, rank and process.
struct Spread {
  std::uint64_t least = 0;
  std::uint64_t median = 0;  // of an even number the mean of the middle two
  std::uint64_t most = 0;
  std::size_t least_in = 0;   // index into the reports
  std::size_t median_in = 0;  // of an even number the lower one of the middle two
  std::size_t most_in = 0;
};
// Of one report or more. May throw bad_alloc.
[[nodiscard]] Spread spread_of(const std::vector<ReportOfProcess>& reports, const Figure& figure);

// Between two numbers; the lower whole one.
[[nodiscard]] constexpr std::uint64_t middle_of(std::uint64_t low, std::uint64_t high) {
  return low + (high - low) / 2;
}

}  // namespace vramscope
