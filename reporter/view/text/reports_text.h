// ReportList is the table of the reports in a folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reporter/view/text/format.h"

namespace vramscope {

struct Report;

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
