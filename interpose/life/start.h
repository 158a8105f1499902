// The start of the profiler in this process: at the program's first cuInit that succeeds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Only the first call counts, and none when switched off. Threads: any, in a call of the program's.
void start_profiler() noexcept;

}  // namespace vramscope
