// The foreign unwinder is libunwind's for stacks of other processes: it asks for each register and
// each word, and so tells what a frame's rule is when it is given a frame that was made up.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/record/stack/frame_rule.h"
#include "reporter/record/stack/stack.h"

namespace vramscope::foreign_unwinder {

// False: it is not installed. Once, on a thread that holds no lock of the loader.
[[nodiscard]] bool open(DlsymFunction real_dlsym) noexcept;

// The rule of the frame that code returns to at that address. Takes some 10 us; asks the loader
// about objects. Threads: any.
[[nodiscard]] FrameRule learn(std::uintptr_t code) noexcept;

}  // namespace vramscope::foreign_unwinder
