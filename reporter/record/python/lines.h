// python_line() reads CPython's line table: which line an instruction comes from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace vramscope {

// Returns the line of the instruction `offset` bytes behind a code object's first instruction, from
// its co_linetable (3.11 and later: PEP 626 and Objects/locations.md of CPython). Returns 0 if the
// table gives no line or is not such a table. first_line: co_firstlineno.
[[nodiscard]] std::uint32_t python_line(std::string_view table, std::uint32_t first_line,
                                        std::uint32_t offset) noexcept;

}  // namespace vramscope
