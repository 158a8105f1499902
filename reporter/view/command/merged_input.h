// open_merged() reads one report or many, and gives one; read_each() gives each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reporter/report/merge.h"
#include "reporter/report/report.h"

namespace vramscope {

struct Reading;

// Has each report that can be read taken by `take`, with its index, one at a time and in no order:
// they are read on every core. Names the others, and gives how many these are.
using TakeReport = std::function<void(Report&& report, std::size_t which)>;
[[nodiscard]] std::size_t read_each(const std::vector<std::string>& paths, const TakeReport& take);

// All of `paths` as one report, each process once, on every core; with one path that report as it
// is. Nothing: one could not be read, which was said.
[[nodiscard]] std::optional<Report> open_merged(std::vector<std::string> paths,
                                                const Reading& reading);
// The same without those that cannot be read; nothing: none can.
struct MergedReadable {
  std::optional<Report> report;
  std::size_t failed = 0;  // each was said
};
[[nodiscard]] MergedReadable open_readable(std::vector<std::string> paths, const Reading& reading);
// The same of `part`, for whoever has no room for all of their sites: nothing is finished yet.
struct MergedPart {
  std::optional<Merger> merger;
  std::size_t failed = 0;  // could not be read; each was said
};
// Every `of`th of the reports, from number `first` on.
struct Part {
  std::size_t first = 0;
  std::size_t of = 1;
};
[[nodiscard]] MergedPart readable_part(std::vector<std::string> paths, const Part& part,
                                       const Reading& reading);
// All of them, for the same; nothing: one could not be read, which was said.
[[nodiscard]] std::optional<Merger> merger_of(std::vector<std::string> paths,
                                              const Reading& reading);

// The report that `word`, a file, a folder or a pattern, names: merged of several. `word` becomes
// the path of the only one, where there is only one.
[[nodiscard]] std::optional<Report> open_named(std::string& word, const Reading& reading);

}  // namespace vramscope
