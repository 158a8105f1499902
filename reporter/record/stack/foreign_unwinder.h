// foreign_unwinder:: uses libunwind's unwinder for other processes. It asks for each register and
// each word, so its questions about a made-up frame show the frame's rule.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/record/stack/frame_rule.h"
#include "reporter/record/stack/stack.h"

namespace vramscope::foreign_unwinder {

// Returns false if the unwinder is not installed. Must be called once, on a thread that holds no
// lock of the loader.
[[nodiscard]] bool open(DlsymFunction real_dlsym) noexcept;

// Returns the rule of the frame that returns to `code`. Takes about 10 us and asks the loader about
// objects. Threads: any.
[[nodiscard]] FrameRule learn(std::uintptr_t code) noexcept;

}  // namespace vramscope::foreign_unwinder
