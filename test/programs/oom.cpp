// Allocates until nothing is left, frees, and must get as much again.
// SPDX-License-Identifier: Apache-2.0
// Arguments: MiB per allocation (default 512), as 1.5; "free": what is free then is told, too.
#include <vector>

#include "test/programs/driver.h"

static std::vector<CUdeviceptr> fill(std::size_t bytes, CUresult* last) {
  std::vector<CUdeviceptr> blocks;
  CUdeviceptr block = 0;
  while ((*last = cuMemAlloc(&block, bytes)) == CUDA_SUCCESS) blocks.push_back(block);
  return blocks;
}

int main(int argc, char** argv) {
  const double asked = argc > 1 ? std::strtod(argv[1], nullptr) : 512;
  const auto bytes = static_cast<std::size_t>(asked * static_cast<double>(kMiB));
  start();
  std::size_t first = 0;
  for (int round = 0; round < 3; ++round) {
    CUresult last;
    std::vector<CUdeviceptr> blocks = fill(bytes, &last);
    if (round == 0) first = blocks.size();
    std::printf("round %d: some %d, as many as at first %d, then %d\n", round, !blocks.empty(),
                blocks.size() == first, static_cast<int>(last));
    for (CUdeviceptr block : blocks) MUST(cuMemFree(block));
  }
  CUdeviceptr other = 0;  // another size must get what the first size gave back
  std::size_t other_bytes = bytes * (first > 1 ? first - 1 : 1) + 4096;
  show("nearly everything at once", cuMemAlloc(&other, other_bytes));
  show("free", cuMemFree(other));
  if (argc < 3) return 0;
  std::size_t free = 0, total = 0;
  MUST(cuMemGetInfo(&free, &total));
  std::printf("free KiB %zu of %zu\n", free / 1024, total / 1024);
}
