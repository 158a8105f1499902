// Deferred frees are those that the program makes while its thread is guarded. They wait for the
// end of the guarding call: a signal handler, or the program's own malloc, may run while the same
// thread holds the allocator's lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "interpose/driver/profiler.h"

namespace vramscope::deferred_frees {

enum class Answer : std::uint8_t {
  deferred,  // it will be freed; the program's call succeeds
  invalid,   // a block of ours that is not live or is of another kind
  foreign,   // memory of the driver
};

// Defers a free by `function` of the memory at `address`. Threads: any. Signal-safe.
[[nodiscard]] Answer defer(Profiler& profiler, Function function, Address address) noexcept;

// Completes the calling thread's deferred frees, at the end of its outermost call. Wait::later: the
// thread must not wait for the device.
void complete(Profiler& profiler,
              CachingAllocator::Wait when = CachingAllocator::Wait::now) noexcept;

// Makes guards complete deferred frees at their end. Call it once.
void register_with_guard() noexcept;

}  // namespace vramscope::deferred_frees
