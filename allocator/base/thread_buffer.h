// The thread's room is memory of ours for what is too large for a thread's own stack and its
// thread-local variables, both of which the program has measured for itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope::thread_buffer {

// One part for each that needs one, all zero bytes when a thread gets its room. What a part holds
// is known to its owner alone, who takes it by part_of(). Pages are taken as they are used; what
// every thread uses lies in the first ones.
struct Parts {
  alignas(64) std::byte known_stacks[192 << 10];  // reporter/record/stack/known_stacks
  alignas(64) std::byte readable_pages[8192];     // reporter/record/stack/safe_read
  alignas(64) std::byte deferred_frees[1024];     // interpose/call/deferred_frees
  alignas(64) std::byte known_callers[8192];      // reporter/record/stack/known_callers
  alignas(64) std::byte python_codes[20 << 10];   // reporter/record/python/stack
};

// Null until the thread needs them.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local Parts* known;
[[nodiscard]] Parts* take() noexcept;

// The calling thread's parts, the same until it ends: then a later thread takes the room over.
// Destructors of the program may still call us.
// Null when the system refuses memory, and in a signal handler that interrupted the first call.
// Keeps errno. Threads: any, also in a signal handler.
[[nodiscard]] inline Parts* get() noexcept { return known != nullptr ? known : take(); }

// The thread is about to end: its parts are zero bytes again, and take no memory until they are
// used. Keeps errno.
void discard() noexcept;

// A part as what its owner keeps there: a T of zero bytes is a valid one.
template <class T, std::size_t bytes>
[[nodiscard]] T* part_of(Parts* parts, std::byte (Parts::*part)[bytes]) noexcept {
  static_assert(sizeof(T) <= bytes && alignof(T) <= 64);
  return parts == nullptr ? nullptr : reinterpret_cast<T*>(&(parts->*part)[0]);
}

}  // namespace vramscope::thread_buffer
