// scopes_at() finds the functions that debug information has at an address.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdw.h>

#include <vector>

namespace vramscope {

// Blocks, inlined functions and, last, the function itself; empty: there is none. gcc has functions
// in the unit, whatever namespace they are of; clang has them in the namespace, where libdw's
// dwarf_getscopes (elfutils 0.188) does not look. `address`: without the module's bias. May throw
// bad_alloc.
[[nodiscard]] std::vector<Dwarf_Die> scopes_at(Dwarf_Die* unit, Dwarf_Addr address);

}  // namespace vramscope
