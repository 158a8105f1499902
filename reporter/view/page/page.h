// page_text() makes a self-contained page of a report or a trace for a browser, with the answers of
// the verbs. This code decides what is shown; the page only draws it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/page/page_of.h"

namespace vramscope {

// Returns whether this build contains the page and its npm packages.
[[nodiscard]] bool has_page();

// The page stays below this size, whatever the report holds: it shows as many sites as fit.
inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;

// Returns the whole page. May throw bad_alloc.
[[nodiscard]] std::string page_text(const PageOf& of, const NameFrame& name);

// Adds a list of texts that come from files, each shortened where a page has no room for it.
void write_texts(JsonText& json, std::string_view key, const std::vector<std::string>& texts);

// Converts JsonText's output so that it can stand in a page, whatever its strings contain: on one
// line, without <, > and &, and without line separators of scripts. Control characters except line
// feeds, and characters that change the direction of text, become '?'.
[[nodiscard]] std::string json_for_page(std::string_view json);

}  // namespace vramscope
