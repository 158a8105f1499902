// The functions here say which of several reports is meant.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

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
  using Memory = std::tuple<Kind, std::size_t, std::string>;  // kind, place of the GPU, name
  [[nodiscard]] std::map<Memory, Peaks> peaks() const;

  std::size_t reports_ = 0;
  std::size_t traces_ = 0;  // of these
  std::set<ProcessIdentity> processes_;
  std::vector<MergedProcess> each_;  // only what tells GPUs apart, and their kinds of memory
};

}  // namespace vramscope
