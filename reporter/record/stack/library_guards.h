// guard_library() hides the file descriptors and waits of a library that we opened from the
// program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// From now on, pipes that `library` (a handle of dlopen) makes with pipe2 get descriptors just
// below 1024, or below the process's limit if that is lower, and its file accesses are no
// cancellation points. libunwind keeps a pipe for life, with which it tests addresses. A program
// that relies on the lowest free number, or closes all descriptors and opens its own, must not meet
// that pipe, and a cancelled thread must not end in the middle of a walk. Does nothing for a
// library without such calls.
void guard_library(void* library) noexcept;

}  // namespace vramscope
