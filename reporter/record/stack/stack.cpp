// Computes the hash that distinguishes one stack from another.
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

}  // namespace vramscope
