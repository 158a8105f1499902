// read_at() reads a value out of the bytes of a program's code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace vramscope::simulator {

// Returns nothing where the image ends before the value does. The bytes need no alignment.
template <class Value>
[[nodiscard]] std::optional<Value> read_at(std::string_view image, std::uint64_t at) {
  Value value;
  if (at > image.size() || image.size() - at < sizeof value) return std::nullopt;
  std::memcpy(&value, image.data() + at, sizeof value);
  return value;
}

}  // namespace vramscope::simulator
