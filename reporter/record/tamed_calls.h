// Keeps the descriptors of a library that we opened out of the program's way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// From now on the pipes that `library` (a handle of dlopen) makes with pipe2 get descriptors just
// below 1024, or below the process's limit where that is lower. libunwind keeps one for life, by
// which it tests addresses: a program that counts on the lowest free number, or closes all and
// opens its own, must not meet it. Does nothing for a library that does not call pipe2.
void raise_pipes_of(void* library) noexcept;

}  // namespace vramscope
