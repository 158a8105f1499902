// Allocates, says so and waits for a line, so that a test can look at it from outside.
// SPDX-License-Identifier: Apache-2.0
// Prints "ready N" and reads a line, three times; "quit" ends it at once without cleaning up.
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "test/programs/driver.h"

// One line of standard input, read so that an interrupted call shows.
static std::string next_line() {
  std::string line;
  char byte = 0;
  while (true) {
    ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got < 0) std::printf("read failed, interrupted %d\n", errno == EINTR);
    if (got != 1 || byte == '\n') return line;
    line += byte;
  }
}

int main() {
  start();
  std::vector<CUdeviceptr> blocks;
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < 20; ++i) blocks.push_back(allocate(100000 * (i + round)));
    MUST(cuMemFree(blocks.front()));
    blocks.erase(blocks.begin());
    std::printf("ready %d\n", round);
    std::fflush(stdout);
    if (next_line() == "quit") _exit(2);
  }
  for (CUdeviceptr block : blocks) MUST(cuMemFree(block));
  std::printf("done\n");
}
