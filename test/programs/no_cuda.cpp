// Never touches CUDA: must be left alone, its signals and threads included.
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>

int main() {
  struct sigaction seen {};
  sigaction(SIGUSR1, nullptr, &seen);
  auto threads = std::filesystem::directory_iterator("/proc/self/task");
  std::printf("default handler: %d\n", seen.sa_handler == SIG_DFL);
  std::printf("threads: %d\n", static_cast<int>(std::distance(begin(threads), end(threads))));
  return 4;
}
