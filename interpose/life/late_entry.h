// Late entry: this library comes into a program that has found the driver already. The driver loads
// it when the program calls cuInit, if CUDA_INJECTION64_PATH names it (CUPTI's documentation), or
// `vramscope attach` does while the program runs. What works then is in the manual (services.md,
// attach.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Starts the profiler after a late entry, at the first call that reaches a wrapper while the driver
// is initialised. Returns whether it has started in this call. Threads: any, without a lock.
[[nodiscard]] bool start_late() noexcept;

}  // namespace vramscope
