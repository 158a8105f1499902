// Control of the simulated CUDA runtime under CUB's allocator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope::bench {

// Drops everything; `capacity` bytes are free.
void reset_runtime(std::uint64_t capacity);
// Most bytes that were allocated at once since then.
std::uint64_t runtime_peak();

}  // namespace vramscope::bench
