// Bypasses are ways by which CUDA calls reach the driver without being intercepted. They are found
// when a report is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vramscope {

// Returns one line for each bypass: a library whose references bind to the driver, or to the C
// library's dlsym, although we come first (RTLD_DEEPBIND); a second driver; a driver in another
// namespace (dlmopen). comes_first: whether the loader finds our symbols first (LD_PRELOAD). Never
// waits for a thread that is in dlopen. Do not hold a lock. May throw bad_alloc. Threads: any.
[[nodiscard]] std::vector<std::string> find_bypasses(bool comes_first);

// Returns such a line for a preloaded library that overrides dlsym and comes before us, or "". May
// throw bad_alloc. Threads: those of the program, in a call of its own.
[[nodiscard]] std::string dlsym_before_ours();

}  // namespace vramscope
