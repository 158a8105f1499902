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

// Returns JSON text for `text`, with quotes. Bytes that are not UTF-8 become U+FFFD. May throw
// bad_alloc. It is defined in json.cpp, which has the JSON library.
[[nodiscard]] std::string json_string(std::string_view text);

// Writes the report. sites: written in place of the report's own sites and processes, unless null.
// May throw bad_alloc, and whatever `sites` throws. The file keeps its own failures.
void write_json(const Report& report, const SiteList* sites, OutputFile& file);

// Writes the end of a document whose other members are already written:
// ",\n\"symbols\":{...}\n}\n". May throw bad_alloc.
void write_symbols(const SymbolFacts& symbols, OutputFile& file);

}  // namespace vramscope
