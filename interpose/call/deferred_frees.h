// Frees that the program makes inside one of our calls: in a signal handler that interrupted it, in
// a malloc of its own that we called. The allocator's lock may be held by the very same thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/life/profiler.h"

namespace vramscope {

// Threads: any; what a thread keeps it completes itself. keep() is safe in a signal handler.
namespace nested {

enum class Answer : std::uint8_t {
  kept,     // it will be freed, the program may be told so
  invalid,  // a block of ours, but not live, or of the other kind
  foreign,  // the driver's
};

// A free by `function` of memory at `address`.
[[nodiscard]] Answer keep(Profiler& profiler, Function function, Address address) noexcept;

// How many this thread has kept.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local std::atomic<std::size_t>
    count;
[[nodiscard]] inline bool any() noexcept { return count.load(std::memory_order_relaxed) != 0; }
// Frees what this thread has kept. Called as its outermost call ends. Wait::later: on a thread that
// must not wait for the device.
void complete(Profiler& profiler,
              CachingAllocator::Wait when = CachingAllocator::Wait::now) noexcept;

}  // namespace nested
}  // namespace vramscope
