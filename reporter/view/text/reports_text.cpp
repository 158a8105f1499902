// Headings of reports.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/reports_text.h"

#include "reporter/report/report.h"

namespace vramscope {
namespace {

std::string program_name(const Report& report) {
  const std::string& program = report.process.executable;
  return program.substr(program.rfind('/') + 1);
}

}  // namespace

std::string heading_text(const Report& report, std::string_view path, const Page& page) {
  const ProcessFacts& process = report.process;
  std::string text = program_name(report);
  if (process.rank >= 0) text += ", rank " + std::to_string(process.rank);
  text = printable(text + " (" + std::to_string(process.pid) + "):", page);
  const std::string file = printable(path, page);  // is never cut
  const bool fits = !page.cuts || columns(text) + 1 + columns(file) <= page.width;
  text = page.cuts ? fitted(text, page.width) : text;
  return coloured(text + (fits ? " " : "\n  ") + file, Colour::bold, page);
}

void which_report(JsonText& json, const Report& report, std::string_view path) {
  const ProcessFacts& process = report.process;
  json.field("file", path).field("pid", process.pid).key("rank");
  process.rank < 0 ? json.null() : json.value(process.rank);
  json.field("executable", process.executable);
}

CsvText::Leading leading_cells(const Report& report, const std::string& path) {
  const ProcessFacts& process = report.process;
  return {{"file", path}, {"pid", process.pid}, {"rank", if_known(process.rank)}};
}

}  // namespace vramscope
