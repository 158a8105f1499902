// put_symbols() adds the symbols of native frames to the report in a file: functions, files and
// lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "reporter/report/symbols.h"

namespace vramscope {

struct FileIdentity;
struct Report;
class SiteList;

// The time until which names are looked up, checked before each frame. Nothing: no limit.
using SymbolsDeadline = std::optional<std::chrono::steady_clock::time_point>;

struct SymbolsPut {
  std::size_t named = 0;     // frames that have names in the file now
  std::size_t too_late = 0;  // frames that were not looked up before the deadline
  std::size_t too_much = 0;  // frames whose names would make the file almost twice as large
  bool is_foreign = false;   // the problem: another program has rewritten the file
  std::string problem = {};  // one line; "": the file has everything that was found
};

// Looks up the frames of the sites that hold most first. The file is replaced as a whole and keeps
// its mode and owner. It is not changed if nothing was found, if it changes meanwhile, if it is not
// a regular file, or if another tool has formatted it. Its other content stays, byte for byte. May
// throw bad_alloc.
[[nodiscard]] SymbolsPut put_symbols(const std::string& path, Symbols& symbols,
                                     const SymbolsDeadline& deadline);

// A report that was just written to a file, so that the file need not be read.
struct SavedReport {
  const std::string& path;
  const FileIdentity& file;
  const Report& report;
  const SiteList& sites;  // in place of the report's own, the largest first
};
// Does the same for it. May throw system_error, too, from `sites`.
[[nodiscard]] SymbolsPut put_symbols(const SavedReport& written, Symbols& symbols,
                                     const SymbolsDeadline& deadline);

}  // namespace vramscope
