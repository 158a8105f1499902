// publish() stores to live memory in program order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <type_traits>

namespace vramscope {

// If a process dies between two instructions, its live memory holds what each thread stored before.
// A reader sees a state that existed if the compiler kept the order of the stores. These stores
// keep their order among each other and cost no more than any store. A change publishes all its
// fields before the one field that makes it visible.
template <class T>
inline void publish(T& field, std::type_identity_t<T> value) noexcept {
  *const_cast<volatile T*>(&field) = value;
}

// Keeps its order among all reads and writes of the thread. For records that are written whole.
template <class T>
inline void publish_all(T& field, std::type_identity_t<T> value) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  publish(field, value);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace vramscope
