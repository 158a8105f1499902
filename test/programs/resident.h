// What the system says of this process's memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

// KiB, by the name of the line in /proc/self/status: "VmRSS:", "VmHWM:".
inline long resident_kib(const char* name) {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, name, std::strlen(name)) == 0) kib = std::atol(line + std::strlen(name));
  }
  if (file != nullptr) std::fclose(file);
  return kib;
}
