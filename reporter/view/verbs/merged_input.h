// open_merged() reads one report or many, and gives one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vramscope {

struct Report;

// Of several reports of one process the last one, by sequence; the others' paths are removed, which
// is said.
void keep_last_reports(std::vector<std::string>& paths);

// All of `paths` as one report, on every core; with one path that report as it is, unless `always`.
// Nothing: one could not be read, which was said.
enum class Merge : bool { if_several, always };
[[nodiscard]] std::optional<Report> open_merged(std::vector<std::string> paths, Merge when);

// The report that `word`, a file, a folder or a pattern, names: merged of several. `word` becomes
// the path of the only one, where there is only one.
[[nodiscard]] std::optional<Report> open_named(std::string& word);

}  // namespace vramscope
