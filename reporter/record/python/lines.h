// Functions here read CPython's table of lines: which line an instruction comes from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace vramscope {

// The line of the instruction `offset` bytes behind a code object's first, by its co_linetable
// (from 3.11 on: PEP 626 and Objects/locations.md of CPython); 0 where the table gives none or is
// no such table. first_line: co_firstlineno.
[[nodiscard]] std::uint32_t python_line(std::string_view table, std::uint32_t first_line,
                                        std::uint32_t offset) noexcept;

}  // namespace vramscope
