// guard_library() keeps the file descriptors and waits of a library that we opened out of the
// program's way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// From now on the pipes that `library` (a handle of dlopen) makes with pipe2 get descriptors just
// below 1024, or below the process's limit where that is lower, and its file accesses are no
// cancellation points. libunwind keeps a pipe for life, by which it tests addresses: a program that
// counts on the lowest free number, or closes all and opens its own, must not meet it, and a
// cancelled thread must not end in the middle of a walk. Does nothing for a library without such
// calls.
void guard_library(void* library) noexcept;

}  // namespace vramscope
