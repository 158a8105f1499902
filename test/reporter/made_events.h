// Stacks and events that a test makes up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

#include "reporter/record/recorder.h"

namespace vramscope {

inline constexpr Place kDevice0{.kind = Kind::device, .device = 0, .context = 1};
inline constexpr Place kDevice1{.kind = Kind::device, .device = 1, .context = 1};
inline constexpr Place kPinned{.kind = Kind::pinned, .device = 0, .context = 1};

inline Stack stack_of(std::initializer_list<std::uintptr_t> frames) {
  Stack stack;
  for (const std::uintptr_t frame : frames) stack.frames[stack.depth++] = frame;
  return stack;
}

inline Event allocation(Served served, std::uint64_t total_ns, Tag tag = 0) {
  Event event;
  event.function = 1;
  event.effect = Effect::allocate;
  event.served = served;
  event.place = kDevice0;
  event.tag = tag;
  event.total_ns = total_ns;
  return event;
}

}  // namespace vramscope
