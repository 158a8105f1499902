// A short sleep at which the program's threads cannot be cancelled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace vramscope {

// For so long, or until a signal interrupts it. The C library's nanosleep would end a cancelled
// thread, amid whatever waits. Changes errno.
inline void nap(const timespec& time) noexcept { syscall(SYS_nanosleep, &time, nullptr); }

}  // namespace vramscope
