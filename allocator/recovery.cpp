// SPDX-License-Identifier: Apache-2.0
#include "allocator/recovery.h"

#include <stdexcept>

#include "allocator/live_books.h"

namespace vramscope {

RecoveredMemory recover_memory(const LiveHeader& header) {
  const auto* books =
      static_cast<const LiveBooks*>(header.allocator.load(std::memory_order_acquire));
  if (books == nullptr) throw std::runtime_error("the process died before it had any memory");
  if (books->layout != LiveBooks::kLayout) {
    throw std::runtime_error("it was written by another version of Vramscope");
  }
  RecoveredMemory out;
  books->accounts->describe(out.memory);
  return out;
}

}  // namespace vramscope
