// The call time is when the call of this thread began; whoever has a clock sets it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// Nanoseconds of one steady clock; 0 where nobody tells. A variable of the thread, not a parameter:
// whatever a call sets in motion has happened then. initial-exec: read at each allocation.
extern __attribute__((tls_model("initial-exec"))) constinit thread_local std::uint64_t call_time_ns;

}  // namespace vramscope
