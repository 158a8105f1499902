// A thread as texts show it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// "python3 4712 - load (train.py:20)", but only its own name where it has one: that of no other
// thread, nor the program's unless it is the main thread.
[[nodiscard]] std::string text_of_thread(const ThreadNames& names, const std::string& thread,
                                         const Page& page);

}  // namespace vramscope
