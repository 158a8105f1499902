// SourceLines gives the text of a line of Python, while its file is the one that ran.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reporter/record/facts.h"

namespace vramscope {

// The path comes from a report, which may be anybody's: only ordinary files of the size and time
// that the run saw are read, at most 4 MiB of them. Threads: one.
class SourceLines {
 public:
  // Without the blanks around it; "" when there is none to be shown.
  [[nodiscard]] std::string line(const SourceFact& source, std::uint32_t line);

 private:
  std::map<std::string, std::vector<std::string>> lines_;  // by path; empty: not to be shown
};

}  // namespace vramscope
