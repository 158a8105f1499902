// variables_of() reads the variables that code declares.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace vramscope::simulator {

struct Variable {
  std::uint64_t bytes = 0;
  bool is_managed = false;
  std::string initial = {};  // its first bytes; all others are 0
  friend bool operator==(const Variable&, const Variable&) = default;
};
using Variables = std::map<std::string, Variable>;  // by name

// Returns the objects in the symbol table of an ELF file (a cubin), or the .global and .const
// variables of PTX that have a size; nothing for other and damaged images. Addresses of other
// variables in an initial value are 0.
[[nodiscard]] Variables variables_of(std::string_view image);

// Returns the length of an image of which the program gives only the address: from the headers of
// an ELF file, or up to the zero behind PTX. 0: another format, such as a fat binary.
[[nodiscard]] std::size_t image_bytes(const void* image);

}  // namespace vramscope::simulator
