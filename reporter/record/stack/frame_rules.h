// Frame rules lie in one table for all threads, so that no thread has one of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/record/stack/frame_rule.h"
#include "reporter/record/stack/stack.h"

namespace vramscope::frame_rules {

// Opens libunwind's unwinder for stacks of others (libunwind-x86_64.so.8), which asks for each word
// that it reads. Once, before any other call here, on a thread that holds no lock of the loader.
void open(DlsymFunction real_dlsym) noexcept;
[[nodiscard]] bool is_open() noexcept;

// Of the frame that code returns to at that address, which is not 0. The first question about an
// address takes some 10 us and asks the loader about objects. Threads: any, also in a signal
// handler; no lock of ours.
[[nodiscard]] FrameRule rule_at(std::uintptr_t code) noexcept;

// Objects came or went: what is known of their code is so no more.
void forget_all() noexcept;

}  // namespace vramscope::frame_rules
