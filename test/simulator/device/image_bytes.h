// read_at(), name_at() and section_at() read values out of the bytes of a program's code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <algorithm>
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

// Returns the text up to its zero, as in a table of names; "" where the image ends before it
// begins.
[[nodiscard]] inline std::string_view name_at(std::string_view image, std::uint64_t at) {
  const std::string_view rest = image.substr(std::min<std::uint64_t>(at, image.size()));
  return rest.substr(0, rest.find('\0'));
}

// Returns a header of the table of sections in an ELF file.
[[nodiscard]] inline std::optional<Elf64_Shdr> section_at(std::string_view image,
                                                          const Elf64_Ehdr& header,
                                                          std::uint64_t index) {
  return read_at<Elf64_Shdr>(image, header.e_shoff + index * sizeof(Elf64_Shdr));
}

}  // namespace vramscope::simulator
