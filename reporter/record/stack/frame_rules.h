// frame_rules:: keeps the rules of all frames in one table for all threads, so that no thread needs
// a table of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/record/stack/frame_rule.h"
#include "reporter/record/stack/stack.h"

namespace vramscope::frame_rules {

// Opens libunwind's unwinder for other processes (libunwind-x86_64.so.8), which asks for each word
// that it reads. Must be called once, before any other function here, on a thread that holds no
// lock of the loader.
void open(DlsymFunction real_dlsym) noexcept;
[[nodiscard]] bool is_open() noexcept;

// Returns the rule of the frame that returns to `code`, which is not 0. The first question about an
// address takes about 10 us and asks the loader about objects. Takes no lock of ours. Threads: any,
// also in a signal handler.
[[nodiscard]] FrameRule rule_at(std::uintptr_t code) noexcept;

// Forgets all rules, since objects were loaded or unloaded.
void forget_all() noexcept;

}  // namespace vramscope::frame_rules
