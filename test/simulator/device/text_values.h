// values_in() reads the initial values of a variable in PTX.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vramscope::simulator {

// `text` is what follows "=" in a declaration: 7, -1, 0dBFF8000000000000 or {1, 0x2, 3}, up to ";"
// or the end. An element has 1, 2, 4 or 8 bytes. Returns the bytes of the elements; an element that
// is no number, such as the address of another variable, is 0.
[[nodiscard]] std::string values_in(std::string_view text, std::size_t element_bytes);

}  // namespace vramscope::simulator
