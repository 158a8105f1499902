// SourceLines gives the text of a line of Python, while its file is the one that ran.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "reporter/ground/facts.h"

namespace vramscope {

// Whether the file is there, with the size and time that the run saw. It is not read.
[[nodiscard]] bool is_as_it_was(const SourceFact& source);

// The path comes from a report, which may be anybody's: it would have any file of the reader shown.
// Read are ordinary files of Python code (*.py, or with a first line that names it), of the size
// and time that the run saw, at most 4 MiB of them, which
// - lie below one of the folders that the reader named, links followed, or
// - a report of the reader's own names, and which are the reader's, root's, or readable by all.
// Threads: one.
class SourceLines {
 public:
  // Without the blanks around it; "" when there is none to be shown.
  [[nodiscard]] std::string line(const SourceFact& source, std::uint32_t line,
                                 const ShownSources& shown);

 private:
  // Path, bytes, time, and whether the report is the reader's.
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t, bool>;
  std::map<Key, std::vector<std::string>> lines_;  // empty: not to be shown
};

}  // namespace vramscope
