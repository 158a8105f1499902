// Holds many allocations of a size that no page of the device divides; keeps them or frees them.
// SPDX-License-Identifier: Apache-2.0
//
// odd_amounts COUNT BYTES keep|free|again: "again" keeps them, waits for a line and frees one.
#include <unistd.h>

#include <string_view>

#include "test/programs/driver.h"

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const std::size_t amount = std::strtoul(arguments[1], nullptr, 10);
  const std::size_t bytes = std::strtoul(arguments[2], nullptr, 10);
  const std::string_view what = arguments[3];
  start();
  std::vector<CUdeviceptr> held;
  for (std::size_t i = 0; i < amount; ++i) held.push_back(allocate(bytes));
  if (what == "again") {
    std::puts("ready");
    std::fflush(stdout);
    char line = 0;
    while (read(STDIN_FILENO, &line, 1) == 1 && line != '\n') continue;
    MUST(cuMemFree(held.back()));
  }
  for (const CUdeviceptr memory : held) {
    if (what == "free") MUST(cuMemFree(memory));
  }
}
