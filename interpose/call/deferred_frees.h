// Frees that the program makes while its thread is guarded are deferred to the end of the call that
// guards it: a signal handler that interrupted it, or a malloc of the program's own that it called,
// may run while the very same thread holds the allocator's lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "interpose/driver/profiler.h"

namespace vramscope::deferred_frees {

enum class Answer : std::uint8_t {
  deferred,  // it will be freed, the program may be told so
  invalid,   // a block of ours, but not live, or of the other kind
  foreign,   // the driver's
};

// A free by `function` of memory at `address`. Threads: any, also in a signal handler.
[[nodiscard]] Answer defer(Profiler& profiler, Function function, Address address) noexcept;

// Frees what this thread has deferred. Called as its outermost call ends. Wait::later: on a thread
// that must not wait for the device.
void complete(Profiler& profiler,
              CachingAllocator::Wait when = CachingAllocator::Wait::now) noexcept;

// From now on guards that end complete what was deferred under them. Once.
void register_with_guard() noexcept;

}  // namespace vramscope::deferred_frees
