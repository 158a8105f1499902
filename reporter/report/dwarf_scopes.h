// scopes_at() finds the functions that debug information lists for an address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdw.h>

#include <vector>

namespace vramscope {

// Returns blocks, inlined functions and last the function itself, or nothing. gcc lists functions
// in the unit, whatever their namespace. clang lists them in the namespace, where libdw's
// dwarf_getscopes (elfutils 0.188) does not look. address: without the module's bias. May throw
// bad_alloc.
[[nodiscard]] std::vector<Dwarf_Die> scopes_at(Dwarf_Die* unit, Dwarf_Addr address);

}  // namespace vramscope
