// What this build of the tool may lack, and why: the rest of it works without.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

struct BuildPart {
  std::string_view name;     // "sqlite"
  std::string_view gives;    // what one does with it: "vramscope export --format sqlite"
  std::string_view why_not;  // one clause without a full stop; "": this build has it
};

// All of them, those that are in first. May throw bad_alloc.
[[nodiscard]] std::vector<BuildPart> build_parts();

// "" where this build has the page, SQLite, protobuf; else why it has not.
[[nodiscard]] std::string_view why_no_page() noexcept;
[[nodiscard]] std::string_view why_no_sqlite() noexcept;
[[nodiscard]] std::string_view why_no_protobuf() noexcept;

// A line a part, for --version --verbose.
[[nodiscard]] std::string build_parts_text();

}  // namespace vramscope
