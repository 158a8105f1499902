// The call time is when the calling thread's current call began. A caller that has a clock sets it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// Nanoseconds of one steady clock; 0 if not set. It is a thread-local variable instead of a
// parameter because everything that a call causes has that time. initial-exec: it is read at each
// allocation.
extern __attribute__((tls_model("initial-exec"))) constinit thread_local std::uint64_t call_time_ns;

}  // namespace vramscope
