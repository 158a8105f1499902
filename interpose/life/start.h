// start_profiler() starts the profiler at the program's first successful cuInit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Only the first call has an effect, and none does if Vramscope is switched off. Threads: any, in a
// call of the program.
void start_profiler() noexcept;

// Whether there is no profiler because the program has not initialised CUDA yet. Threads: any.
[[nodiscard]] bool may_start() noexcept;

}  // namespace vramscope
