// Bypasses are ways by which CUDA calls reach the driver without being intercepted, as far as they
// can be seen when a report is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vramscope {

// One line for each: a library whose references bind to the driver, or to the C library's dlsym,
// although we come first (RTLD_DEEPBIND), a second driver, a driver in another namespace (dlmopen).
// May throw bad_alloc. Never waits for a thread that is in dlopen. Hold no lock. Threads: any.
[[nodiscard]] std::vector<std::string> find_bypasses();

// The same line for a preloaded library that overrides dlsym and comes before us; "" when there is
// none. May throw bad_alloc. Threads: those of the program, in a call of its own.
[[nodiscard]] std::string dlsym_before_ours();

}  // namespace vramscope
