// Files that gzip packed are read as what is in them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vramscope {

[[nodiscard]] bool is_gzip(std::string_view head);

struct Unpacked {
  std::string text;
  std::string problem;  // "" when text is all that was packed
};

// All parts of the file, one after the other. More than `most_bytes` is a problem. May throw
// bad_alloc.
[[nodiscard]] Unpacked unpack_gzip(std::string_view bytes, std::size_t most_bytes);

// As far as the bytes go, and `most_bytes` of it. May throw bad_alloc.
[[nodiscard]] std::string beginning_of_gzip(std::string_view bytes, std::size_t most_bytes);

}  // namespace vramscope
