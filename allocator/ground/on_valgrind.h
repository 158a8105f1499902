// What valgrind is asked and told, where its header was there when this was built; else nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif

namespace vramscope {

// Whether the process runs under valgrind, whose memory checker takes probing for a mistake.
[[nodiscard]] inline bool is_on_valgrind() noexcept {
#ifdef RUNNING_ON_VALGRIND
  return RUNNING_ON_VALGRIND != 0;
#else
  return false;
#endif
}

// The bytes between are a stack.
inline void tell_valgrind_of_stack([[maybe_unused]] const void* begin,
                                   [[maybe_unused]] const void* last) noexcept {
#ifdef VALGRIND_STACK_REGISTER
  VALGRIND_STACK_REGISTER(begin, last);
#endif
}

}  // namespace vramscope
