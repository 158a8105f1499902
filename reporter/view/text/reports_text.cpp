// What each report of a folder is, on a line.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/reports_text.h"

#include "reporter/report/report.h"
#include "reporter/view/text/device_text.h"

namespace vramscope {
namespace {

using enum Table::Align;

std::string written_text(const Report& report) {
  const std::string& signal = report.process.ended_by;
  return signal.empty() ? report.trigger : report.trigger + ", " + signal;
}

std::string recorded_text(const Report& report) {
  const std::string devices = devices_line(report);
  return devices.empty() ? "no device memory" : devices;
}

std::string program_name(const Report& report) {
  const std::string& program = report.process.executable;
  return program.substr(program.rfind('/') + 1);
}

}  // namespace

std::string heading_text(const Report& report, std::string_view path, const Page& page) {
  const ProcessFacts& process = report.process;
  std::string text = program_name(report);
  if (process.rank >= 0) text += ", rank " + std::to_string(process.rank);
  text += " (" + std::to_string(process.pid) + "): ";
  return coloured(printable(text.append(path), page), Colour::bold, page);
}

void which_report(JsonText& json, const Report& report, std::string_view path) {
  const ProcessFacts& process = report.process;
  json.field("file", path).field("pid", process.pid).key("rank");
  process.rank < 0 ? json.null() : json.value(process.rank);
  json.field("executable", process.executable);
}

ReportList::ReportList(const Page& page)
    : page_(page),
      table_({{"PROGRAM", left},
              {"PID", right},
              {"WRITTEN", left},
              {"FILE", left},
              {"RECORDED", left}}) {}

void ReportList::add(const Report& report, std::string_view file_name) {
  table_.add({printable(program_name(report), page_), std::to_string(report.process.pid),
              printable(written_text(report), page_), printable(file_name, page_),
              printable(recorded_text(report), page_)});
  ++count_;
}

std::string ReportList::text(std::string_view folder) const {
  return coloured(counted(count_, "report") + " in " + printable(folder, page_), Colour::bold,
                  page_) +
         "\n" + table_.text(page_);
}

}  // namespace vramscope
