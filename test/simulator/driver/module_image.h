// What code is looked at for: the variables that it declares.
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

// How long an image is of which a program gives the address only: by the headers of an ELF file, or
// up to the zero behind PTX. 0: something else, such as a fat binary.
[[nodiscard]] std::size_t image_bytes(const void* image);

// Of an ELF file (a cubin) the objects of its symbol table, of PTX the .global and .const ones with
// a size; of anything else, and of what is damaged, none.
[[nodiscard]] Variables variables_of(std::string_view image);

// Nothing was found worth saying: the logs that a program gives room for are empty.
void leave_logs_empty(unsigned count, const CUjit_option* options, void** values);

}  // namespace vramscope::simulator
