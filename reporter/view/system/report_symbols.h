// put_symbols() adds to the report in a file what its native frames are called: functions, files
// and lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "reporter/report/symbols.h"

namespace vramscope {

// Until when names are looked up; the clock is looked at before each frame. Nothing: to the end.
using SymbolsDeadline = std::optional<std::chrono::steady_clock::time_point>;

struct SymbolsPut {
  std::size_t named = 0;     // frames that have names in the file now
  std::size_t too_late = 0;  // that were not looked up before the deadline
  std::size_t too_much = 0;  // whose names would make the file almost twice as large
  bool is_foreign = false;   // the problem: another program has written the file anew
  std::string problem = {};  // one line; "": the file has all that was found
};

// The frames of the sites that hold most come first. The file is replaced as a whole, keeps its
// mode and its owner, and is left alone where nothing was found, where it changes meanwhile, where
// it is no regular file, or where it was not laid out by this tool. What else stands in it stays,
// byte for byte. May throw bad_alloc.
[[nodiscard]] SymbolsPut put_symbols(const std::string& path, Symbols& symbols,
                                     const SymbolsDeadline& deadline);

}  // namespace vramscope
