// Lookup answers dlsym and cuGetProcAddress for functions of the table with our wrappers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/table/functions.h"

namespace vramscope {

// Whether `symbol` is the exported name of a row of functions.def.
[[nodiscard]] bool is_intercepted(const char* symbol) noexcept;

// Returns the row that cuGetProcAddress means by `symbol`: the newest one with since <= version, in
// the requested stream flavour if the function has flavours; null if there is none.
[[nodiscard]] const FunctionRow* newest_row(const char* symbol, int version,
                                            bool per_thread) noexcept;
[[nodiscard]] void* wrapper_of(const FunctionRow& row) noexcept;

}  // namespace vramscope
