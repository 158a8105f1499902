// Several threads on one allocator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/bench/plugin.h"

namespace vramscope::bench {

// `count` threads allocate and free without a pause, mixed sizes up to 4 MiB, on all processors.
// One JSON object on stdout: time per pair that each of them saw, and how long the slowest call in
// 10,000 took (with the clock that measures it).
void measure_threads(const Plugin& plugin, int count, int round);

}  // namespace vramscope::bench
