// page_text() makes one self-contained page of a report or a trace: what the verbs tell, to look at
// in a browser. What is shown is decided here; the page only draws it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/page/page_of.h"

namespace vramscope {

// Whether this build has the page that npm's packages are bundled into.
[[nodiscard]] bool has_page();

// Below this many bytes whatever the report holds: as many sites are shown as there is room for.
inline constexpr std::size_t kPageBytes = std::size_t{2} << 20;

// The whole page. May throw bad_alloc.
[[nodiscard]] std::string page_text(const PageOf& of, const NameFrame& name);

// What JsonText wrote as it can stand in a page, whatever its strings hold: on one line, without <,
// > and &, and without what ends a line for a script; control characters but for line feeds and
// those that turn the direction of text are '?'.
[[nodiscard]] std::string json_for_page(std::string_view json);

}  // namespace vramscope
