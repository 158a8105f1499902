// variables_of() reads the variables that code declares.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

using Variables = std::map<std::string, std::uint64_t>;  // bytes by name

// Returns the length of an image of which the program gives only the address: from the headers of
// an ELF file, or up to the zero behind PTX. 0: another format, such as a fat binary.
[[nodiscard]] std::size_t image_bytes(const void* image);

// Returns the objects in the symbol table of an ELF file (a cubin), or the .global and .const
// variables of PTX that have a size; nothing for other and damaged images.
[[nodiscard]] Variables variables_of(std::string_view image);

// Leaves the logs empty for which a program provides buffers, since there is nothing to report.
void leave_logs_empty(unsigned count, const CUjit_option* options, void** values);

}  // namespace vramscope::simulator
