// open_stacks() and capture() inside another library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/record/stack/capture.h"

namespace vramscope {

[[gnu::visibility("default")]] StackMethod open_library_stacks(StackMethod wanted,
                                                               std::size_t max_depth,
                                                               DlsymFunction lookup);
[[gnu::visibility("default")]] void library_capture(Stack& stack);
// The same from the thread's stack of ours.
[[gnu::visibility("default")]] void library_capture_elsewhere(Stack& stack);
// Whether what is noted of the caller's stack, if it is known, fits a walk along it.
[[gnu::visibility("default")]] bool library_note_fits();
// How many of these were known to the calling thread.
[[gnu::visibility("default")]] std::uint64_t library_found();

}  // namespace vramscope
