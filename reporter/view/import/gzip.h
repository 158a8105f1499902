// unpack_gzip() unpacks files that gzip packed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vramscope {

[[nodiscard]] bool is_gzip(std::string_view head);

struct Unpacked {
  std::string text;
  std::string problem;  // "" if `text` is complete
};

// Unpacks all parts of the file, one after another. More than `most_bytes` is a problem. May throw
// bad_alloc.
[[nodiscard]] Unpacked unpack_gzip(std::string_view bytes, std::size_t most_bytes);

// Unpacks as much as the bytes contain, up to `most_bytes`. May throw bad_alloc.
[[nodiscard]] std::string beginning_of_gzip(std::string_view bytes, std::size_t most_bytes);

}  // namespace vramscope
