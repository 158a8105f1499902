// Which addresses are on the stack of ours.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/own_stack.h"

#include <cstdint>

namespace vramscope::own_stack {

constinit thread_local volatile bool is_used = false;

bool holds(const void* address) noexcept {
  const auto end = reinterpret_cast<std::uintptr_t>(thread_room::known);
  const auto below = end - 1 - reinterpret_cast<std::uintptr_t>(address);
  return end != 0 && below < thread_room::kStackBytes;
}

const void* program_frame(const void* frame) noexcept {
  if (!holds(frame)) return frame;
  return reinterpret_cast<void**>(thread_room::known)[-1];  // written by vramscope_switch_stack
}

}  // namespace vramscope::own_stack
