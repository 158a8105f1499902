// parameters_of() reads where the parameters of kernels lie.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope::simulator {

struct Parameter {
  std::size_t offset = 0;  // in the block of parameters
  std::size_t bytes = 0;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};
using Parameters = std::map<std::string, std::vector<Parameter>, std::less<>>;  // by kernel

// Returns the parameters of the kernels in an ELF file (a cubin) or in PTX; nothing for other and
// damaged images. A kernel without parameters has an empty list.
[[nodiscard]] Parameters parameters_of(std::string_view image);

}  // namespace vramscope::simulator
