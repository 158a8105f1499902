// Injection is the second way into a program: the driver loads this library, which the variable
// CUDA_INJECTION64_PATH names, when the program calls cuInit (CUPTI's documentation). There is no
// LD_PRELOAD then: the manual (services.md) says what works.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Starts the profiler if the driver loaded this library and is initialised now, at the first call
// that reaches a wrapper. Returns whether it has started in this call. Threads: any, without a
// lock.
[[nodiscard]] bool start_if_injected() noexcept;

}  // namespace vramscope
