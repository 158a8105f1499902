// What tells one stack from another.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/stack.h"

#include "reporter/record/stack/hash.h"

namespace vramscope {

std::uint64_t Stack::hash() const noexcept {
  if (note != nullptr) return note->hash;
  std::uint64_t hash = kHashSeed;
  for (const std::uintptr_t frame : view()) hash = mix(hash, frame);
  return hash >> 1;
}

// The highest bit tells the word from an address.
void Stack::add(const PythonFrame& frame) {
  constexpr std::uintptr_t kPythonMark = std::uintptr_t{1} << 63;
  const std::uint64_t place = std::uint64_t{frame.offset} << 1 | (frame.ends_loop ? 1 : 0);
  frames[depth + python_depth] = mix(frame.identity, place) | kPythonMark;
  python[python_depth++] = frame;
  note = nullptr;
}

}  // namespace vramscope
