// ReportList is the table of the reports in a folder; the functions here say which report is meant.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reporter/view/text/format.h"
#include "reporter/view/text/json_text.h"

namespace vramscope {

struct Report;

// "train, rank 3 (4711): vramscope.train.4711.json", in bold.
[[nodiscard]] std::string heading_text(const Report& report, std::string_view path,
                                       const Page& page);
// Appends the members file, pid, rank and executable.
void which_report(JsonText& json, const Report& report, std::string_view path);

// A line a report. Threads: one.
class ReportList {
 public:
  explicit ReportList(const Page& page);
  void add(const Report& report, std::string_view file_name);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::string text(std::string_view folder) const;

 private:
  Page page_;
  Table table_;
  std::size_t count_ = 0;
};

}  // namespace vramscope
