// The store by which a change of live memory takes place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <type_traits>

namespace vramscope {

// What the program wrote before is in memory before this is, and what it writes after comes after:
// so whoever finds the memory of a process that died in between sees a state that there was. That
// is an order of one thread's own instructions, of which the dead leave a beginning: it binds the
// compiler and costs no instruction.
template <class T>
inline void publish(T& field, std::type_identity_t<T> value) noexcept {
  std::atomic_signal_fence(std::memory_order_release);
  std::atomic_ref<T>(field).store(value, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_acq_rel);
}

}  // namespace vramscope
