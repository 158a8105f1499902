// Stores to live memory that take place in the order in which they are written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <type_traits>

namespace vramscope {

// Of a process that dies between two instructions the memory has what each thread stored before,
// and nothing after: whoever reads it sees a state that there was, if the compiler kept the order.
// These stores keep their place among each other, and cost what any store does. What belongs to a
// change is published before the one field by which it takes place.
template <class T>
inline void publish(T& field, std::type_identity_t<T> value) noexcept {
  *const_cast<volatile T*>(&field) = value;
}

// Keeps its place among all that the thread reads and writes: where records are written whole.
template <class T>
inline void publish_all(T& field, std::type_identity_t<T> value) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  publish(field, value);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace vramscope
