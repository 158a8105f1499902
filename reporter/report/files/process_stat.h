// What the system says of a process in one line: whether it is there, and since when.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// Of /proc/PID/stat: what follows the program's name, which may hold anything.
struct ProcessStat {
  char state = 0;                 // 0: there is no such process, or nothing can be read
  std::uint64_t start_ticks = 0;  // when it started, in ticks since the machine did
};

// `path`: /proc/PID/stat, or that of "self". Threads: any.
[[nodiscard]] ProcessStat process_stat(const char* path) noexcept;

}  // namespace vramscope
