// load_into() makes a running process load a library, as if a handler of a signal had called
// dlopen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace vramscope {

enum class Loading : std::uint8_t {
  done,        // dlopen has returned; whether it found the library is seen in /proc/PID/maps
  no_place,    // in the time, no thread waited in a system call where it may call dlopen
  unfinished,  // dlopen has not returned in the time; it goes on
  forbidden,   // the system does not allow to trace the process
  stopped,     // the process is stopped by a signal
  other_libc,  // the process has another C library than this tool
  ended,       // the process has ended
  no_machine   // this tool cannot do it on this architecture
};

// A thread of the process that waits in a system call (poll, futex, nanosleep, read, wait4) is
// stopped and calls dlopen(path, RTLD_NOW) below its stack; then it waits again. Only that thread
// is stopped, and no code or data of the process is changed but the unused part of its stack. If
// this process is killed meanwhile, the thread returns to its system call by itself, and waits anew
// with all its time. path: absolute, as the process sees it. seconds: for finding such a thread,
// and again for dlopen. May throw bad_alloc. Threads: one.
[[nodiscard]] Loading load_into(pid_t process, const std::string& path, unsigned seconds);

}  // namespace vramscope
