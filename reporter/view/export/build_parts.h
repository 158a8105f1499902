// The parts that this build of the tool may lack, and why. Everything else works without them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

struct BuildPart {
  std::string_view name;     // "SQLite"
  std::string_view gives;    // what it is for: "vramscope export --format sqlite"
  std::string_view why_not;  // one clause without a full stop; "": this build has it
};

// Returns all parts, the included ones first. May throw bad_alloc.
[[nodiscard]] std::vector<BuildPart> build_parts();

// Return "" if this build has the page, SQLite, Parquet, protobuf or ncurses, else why it lacks it.
[[nodiscard]] std::string_view why_no_page() noexcept;
[[nodiscard]] std::string_view why_no_sqlite() noexcept;
[[nodiscard]] std::string_view why_no_parquet() noexcept;
[[nodiscard]] std::string_view why_no_protobuf() noexcept;
[[nodiscard]] std::string_view why_no_curses() noexcept;  // command/live_terminal.cpp

// Returns a line for each part, for --version --verbose.
[[nodiscard]] std::string build_parts_text();

}  // namespace vramscope
