// Ways past us: what can be seen, when a report is made, of CUDA calls that are not intercepted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace vramscope {

// One line for each: a library whose references bind to the driver, or to the C library's dlsym,
// although we come first (RTLD_DEEPBIND), a second driver, a driver in another namespace (dlmopen).
// May throw bad_alloc. Asks the loader: hold no lock. Threads: any.
[[nodiscard]] std::vector<std::string> find_bypasses();

}  // namespace vramscope
