// Answers dlsym and cuGetProcAddress from the table; owns every trick about the dynamic loader.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/functions.h"

namespace vramscope {

// The C library's own dlsym, found on first use. Never null: without one the process has no loader.
// Threads: any.
[[nodiscard]] void* real_dlsym(void* handle, const char* name) noexcept;

// The definition of `name` behind ours in search order (RTLD_NEXT seen from this library), or null.
template <class F>
[[nodiscard]] F* next_definition(F*, const char* name) noexcept {
  return reinterpret_cast<F*>(real_dlsym(reinterpret_cast<void*>(-1L), name));  // RTLD_NEXT
}

// The row that cuGetProcAddress means by `symbol`: the newest one with since <= version, in the
// asked stream flavour where the function has flavours. Null when there is none.
[[nodiscard]] const FunctionRow* newest_row(const char* symbol, int version,
                                            bool per_thread) noexcept;
[[nodiscard]] void* wrapper_of(const FunctionRow& row) noexcept;

}  // namespace vramscope
