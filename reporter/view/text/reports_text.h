// The functions here say which of several reports is meant.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "allocator/base/place.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// "train, rank 3 (4711): vramscope.train.4711.json", in bold.
[[nodiscard]] std::string heading_text(const Report& report, std::string_view path,
                                       const Page& page);
// file, pid, rank and executable.
[[nodiscard]] Columns<Report> which_report(const std::string& path);
// The columns file, pid and rank.
[[nodiscard]] CsvText::Leading leading_cells(const Report& report, const std::string& path);

// What stands above the texts of many reports: how many there are, what their peaks were, and what
// shows all of them at once. Threads: one.
class ReportsSummary {
 public:
  void add(const Report& report);
  // "" of a few. `typed`: words for the reports. Ends with an empty line.
  [[nodiscard]] std::string text(const std::string& typed, const Page& page) const;

 private:
  struct Peaks {
    std::size_t count = 0;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    std::string whose = {};  // that
  };
  std::size_t reports_ = 0;
  std::size_t traces_ = 0;  // of these
  std::set<ProcessIdentity> processes_;
  std::map<std::pair<Kind, std::uint16_t>, Peaks> peaks_;
};

}  // namespace vramscope
