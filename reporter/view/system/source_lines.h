// SourceLines returns the text of a line of Python, if its file is the one that ran.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "reporter/base/facts.h"

namespace vramscope {

// Returns whether the file exists with the size and time that the run saw. It is not read.
[[nodiscard]] bool is_as_it_was(const SourceFact& source);

// The path comes from a report, which anybody may have written to make the tool show any file of
// the reader. So only regular files of Python code are read (*.py, or with a first line that names
// Python), of the size and time that the run saw, up to 4 MiB, which
// - lie below one of the folders that the reader named, with links followed, or
// - are named by the reader's own report, and belong to the reader or root, or are readable by all.
// Threads: one.
class SourceLines {
 public:
  // Returns the line without the blanks around it, or "" if it must not be shown or does not exist.
  [[nodiscard]] std::string line(const SourceFact& source, std::uint32_t line,
                                 const ShownSources& shown);

 private:
  // Path, bytes, time, and whether the report belongs to the reader.
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t, bool>;
  std::map<Key, std::vector<std::string>> lines_;  // empty: must not be shown
};

}  // namespace vramscope
