// What the host's memory held, and kinds of no device.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/host_text.h"

#include <algorithm>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/text/device_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

// "; page-locked segments: peak 2.01 MiB, now 2.01 MiB, 2.00 MiB of it idle", where more stays
// page-locked than the program holds; "" where not.
std::string pinned_reserve(const Report& report) {
  const HostStatistics& stats = report.host.statistics;
  const bool is_part = report.chosen && report.chosen->by_rows;
  const std::uint64_t registered = bytes_of(report, Kind::registered).current;
  const std::uint64_t all = positive(stats.reserved_bytes.current);
  const std::uint64_t now = all - std::min(all, registered);
  const bool has_all = !report.chosen || !report.chosen->kind;  // registered memory, too
  if (is_part || !has_all || !report.host.used || now <= bytes_of(report, Kind::pinned).current)
    return "";
  std::uint64_t listed = 0, idle = 0;
  for (const SegmentFacts& segment : report.host.segments) {
    listed += segment.total_size;
    if (segment.active_size == 0) idle += segment.total_size;
  }
  std::string text = "; page-locked segments: ";
  if (registered == 0 && bytes_of(report, Kind::registered).peak == 0) {
    text += peak_word(report) + " " + bytes_text(stats.reserved_bytes.peak) + ", ";
  }
  text += "now " + amount_text(now);
  return idle == 0 || listed != now ? text : text + ", " + amount_text(idle) + " of it idle";
}

std::string kind_line(const Report& report, Kind kind, std::size_t name_cells) {
  const KindBytes bytes = bytes_of(report, kind);
  std::string name = kind_text(kind);
  name.resize(name_cells, ' ');
  const std::string no_memory = kind == Kind::address_range ? ": address space, not memory"
                                : kind == Kind::pinned      ? pinned_reserve(report)
                                                            : "";
  const std::string_view of_requests =
      kind == Kind::pinned && !no_memory.empty() ? "requested: " : "";
  return name + "  " + std::string(of_requests) + peak_word(report) + " " + bytes_text(bytes.peak) +
         ", now " + bytes_text(bytes.current) + ", " + counted(bytes.calls, "call") + no_memory;
}

std::string time_of_calls(const std::string& name, const Duration& time) {
  if (time.count == 0) return "";
  return name + " " + duration_text(time.total_ns) + " in " + counted(time.count, "call") +
         " (longest " + duration_text(time.max_ns) + ")";
}

}  // namespace

Document host_text(const Report& report) {
  std::vector<Kind> kinds;
  std::size_t name_cells = kKindNames[static_cast<std::size_t>(Kind::registered)].size();
  for (std::size_t i = 0; i < kKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    if (takes_device_memory(kind) || bytes_of(report, kind).calls == 0)
      continue;  // with its device
    kinds.push_back(kind);
    name_cells = std::max(name_cells, kind_text(kind).size());
  }
  Document text;
  if (kinds.empty()) return text;
  text.gap();
  text.heading("Host and other memory");
  for (const Kind kind : kinds) text.paragraph(kind_line(report, kind, name_cells));
  const std::string pinning = time_of_calls("pinning took", report.host.timing.alloc_driver);
  const std::string unpinning = time_of_calls("unpinning", report.host.timing.free_driver);
  const std::string between = pinning.empty() || unpinning.empty() ? "" : ", ";
  const bool has_all = !report.chosen || !report.chosen->kind;  // they are of both kinds
  if (has_all) text.paragraph(pinning + between + unpinning, kWhereAllIs);
  if (has_all || *report.chosen->kind == Kind::pinned)
    text.paragraph(pinned_text(report), kWhereAllIs);
  return text;
}

}  // namespace vramscope
