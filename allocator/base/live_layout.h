// The layout number of a root in a live file tells whether its reader is of the version that wrote
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace vramscope {

// Of this version, and of the sizes of what lies behind the root (FNV-1a); never 0, which is that
// of a root that is not there.
[[nodiscard]] constexpr std::uint64_t live_layout(std::initializer_list<std::size_t> sizes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t value) { sum = (sum ^ value) * 0x100000001b3; };
  for (const char letter : std::string_view(VRAMSCOPE_VERSION)) {
    add(static_cast<unsigned char>(letter));
  }
  for (const std::size_t size : sizes) add(size);
  return sum | 1;
}

}  // namespace vramscope
