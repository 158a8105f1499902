// Headings of reports.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/reports_text.h"

#include <algorithm>
#include <utility>

#include "reporter/report/gpus.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {

std::string heading_text(const Report& report, std::string_view path, const Page& page) {
  std::string text = printable(titled_process(report.process) + ":", page);
  text = page.cuts ? fitted(text, page.width) : text;
  return coloured(followed_by(text, printable(path, page), page), Colour::bold, page);
}

Columns<Report> which_report(const std::string& path) {
  return {{"file", "path of the report", [path](const Report&) { return path; }},
          {"pid", "number of the process", [](const Report& one) { return one.process.pid; }},
          {"rank", "from the launcher's variables; `null`: none",
           [](const Report& one) { return if_known(one.process.rank); }},
          {"executable", "path of the program",
           [](const Report& one) { return one.process.executable; }}};
}

CsvText::Leading leading_cells(const Report& report, const std::string& path) {
  CsvText::Leading cells;
  for (const Column<Report>& column : which_report(path)) {
    if (column.name != "executable") cells.emplace_back(column.name, column.cell(report));
  }
  return cells;
}

void ReportsSummary::add(const Report& report) {
  const ProcessFacts& process = report.process;
  ++reports_;
  if (trigger_of(report) == Trigger::trace) ++traces_;
  processes_.insert(identity_of(process));
  MergedProcess one;
  one.process = process;
  one.kinds = report.kinds;
  for (const DeviceReport& device : report.devices) {
    one.devices.push_back({.index = device.facts.index,
                           .name = device.facts.name,
                           .uuid = device.facts.uuid,
                           .pci_bus_id = device.facts.pci_bus_id});
  }
  each_.push_back(std::move(one));
}

std::map<ReportsSummary::Memory, ReportsSummary::Peaks> ReportsSummary::peaks() const {
  const Gpus gpus(each_);
  std::map<Memory, Peaks> all;
  for (const MergedProcess& one : each_) {
    for (const KindFacts& kind : one.kinds) {
      if (!holds_memory(kind.kind) || kind.peak_bytes == 0) continue;
      Memory memory{kind.kind, kind.device, memory_name(kind.kind, kind.device)};
      for (const ProcessDevice& device : one.devices) {
        if (!has_device(kind.kind) || device.index != kind.device) continue;
        const Gpu& gpu = gpus.of(one, device);
        const std::string more = kind.kind == Kind::device ? "" : " " + kind_text(kind.kind);
        memory = {kind.kind, gpu.place, gpu.label + more};
      }
      Peaks& peaks = all[memory];
      peaks.least = peaks.count++ == 0 ? kind.peak_bytes : std::min(peaks.least, kind.peak_bytes);
      if (kind.peak_bytes <= peaks.most) continue;
      peaks.most = kind.peak_bytes;
      peaks.whose = named_process(one.process);
    }
  }
  return all;
}

std::string ReportsSummary::text(const std::string& typed, const Page& page) const {
  constexpr std::size_t kMany = 4;  // fewer are on a screen or two
  constexpr std::size_t kPlaces = 4;
  if (reports_ < kMany) return "";
  const auto processes = [](std::size_t count) {
    return count_text(count) + (count == 1 ? " process" : " processes");
  };
  // Of a process with several reports each counts.
  const auto of_each = [&](std::size_t count) {
    return reports_ == processes_.size() ? processes(count) : counted(count, "report");
  };
  const bool are_traces = traces_ == reports_;
  std::string text = coloured(counted(reports_, are_traces ? "trace" : "report") + " of " +
                                  processes(processes_.size()),
                              Colour::bold, page) +
                     "\n";
  std::size_t shown = 0;
  const std::map<Memory, Peaks> all = this->peaks();
  for (const auto& [memory, peaks] : all) {
    if (shown++ == kPlaces) break;
    std::string line = std::get<2>(memory) + "  " + of_each(peaks.count);
    line += peaks.least == peaks.most ? ", peak " + amount_text(peaks.most)
                                      : ", peaks from " + amount_text(peaks.least) + " to " +
                                            amount_text(peaks.most) + ", that of " + peaks.whose;
    text += paragraph(printable(line, page), page);
  }
  if (all.size() > kPlaces) {
    text += "  and " + counted(all.size() - kPlaces, "more kind") + " of memory\n";
  }
  if (are_traces) return text + "\n";  // only reports are shown side by side, or as one
  const std::string words = typed == "FILE..." ? typed : shell_path(typed, page);
  text += "  side by side: vramscope report " + words + "\n";
  return text + "  as one:       vramscope merge -o all.json " + words + "\n\n";
}

}  // namespace vramscope
