// write_json() writes the report's fields as JSON text, element by element.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "reporter/report/files/output_file.h"

namespace vramscope {

class SiteList;
struct Report;
struct SymbolFacts;

// JSON text for `text`, with quotes; bytes that are no UTF-8 become U+FFFD. May throw bad_alloc.
// Defined in json.cpp, where the JSON library is.
[[nodiscard]] std::string json_string(std::string_view text);

// sites: in the place of the report's own; nullptr: these. May throw bad_alloc, and whatever
// reading `sites` throws; the file keeps its own failures.
void write_json(const Report& report, const SiteList* sites, OutputFile& file);

// The end of a document whose other members are written already: ",\n\"symbols\":{...}\n}\n". May
// throw bad_alloc.
void write_symbols(const SymbolFacts& symbols, OutputFile& file);

}  // namespace vramscope
