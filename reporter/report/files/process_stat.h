// process_stat() asks the system whether a process exists, and since when.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// The fields of /proc/PID/stat behind the program's name, which may contain anything.
struct ProcessStat {
  char state = 0;                 // 0: the process does not exist, or its line cannot be read
  std::uint64_t start_ticks = 0;  // start time in ticks since the boot
};

// path: /proc/PID/stat, or /proc/self/stat. Threads: any.
[[nodiscard]] ProcessStat process_stat(const char* path) noexcept;

}  // namespace vramscope
