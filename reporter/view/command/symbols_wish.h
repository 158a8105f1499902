// SymbolsWish is what was typed of when reports get the names of their functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vramscope {

class Command;
struct SavedReport;

// --symbols: "off"; "end": until all are looked up; or seconds.
struct SymbolsWish {
  std::string until = "10";
};

// --symbols, of `run` and of verbs that make reports.
void add_symbols_option(Command& command, SymbolsWish& wish);

// Adds names to the reports, all of them together until then. What is no regular file, a pipe, gets
// none. Gives a clause for a person: "; 12 frames not named in 10 s: vramscope symbols r.json"; "":
// nothing is to be said. May throw bad_alloc.
[[nodiscard]] std::string add_symbols(const std::vector<std::string>& paths,
                                      const SymbolsWish& wish);
// Does the same for a report that was just written. May throw system_error, too.
[[nodiscard]] std::string add_symbols(const SavedReport& written, const SymbolsWish& wish);

}  // namespace vramscope
