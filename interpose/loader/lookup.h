// Lookup decides what dlsym and cuGetProcAddress answer for a function of the table: our wrapper of
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/table/functions.h"

namespace vramscope {

// Is it the exported name of a row of functions.def?
[[nodiscard]] bool is_intercepted(const char* symbol) noexcept;

// The row that cuGetProcAddress means by `symbol`: the newest one with since <= version, in the
// asked stream flavour where the function has flavours. Null when there is none.
[[nodiscard]] const FunctionRow* newest_row(const char* symbol, int version,
                                            bool per_thread) noexcept;
[[nodiscard]] void* wrapper_of(const FunctionRow& row) noexcept;

}  // namespace vramscope
