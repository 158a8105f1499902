// Memory keeps its bytes while its neighbours are written, freed and allocated anew.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "test/programs/driver.h"

struct Block {
  CUdeviceptr address;
  std::size_t bytes;
  unsigned char mark;
};

static Block filled(std::size_t bytes, int number) {
  Block block{allocate(bytes), bytes, static_cast<unsigned char>(number * 7 + 1)};
  MUST(cuMemsetD8(block.address, block.mark, bytes));
  return block;
}

static std::size_t wrong_bytes(const Block& block) {
  std::vector<unsigned char> seen(block.bytes);
  MUST(cuMemcpyDtoH(seen.data(), block.address, block.bytes));
  return block.bytes - std::count(seen.begin(), seen.end(), block.mark);
}

int main() {
  start();
  std::vector<Block> blocks;
  std::size_t wrong = 0;
  int number = 0;
  for (int round = 0; round < 6; ++round) {
    for (std::size_t bytes : {std::size_t{1}, std::size_t{511}, std::size_t{512}, std::size_t{5000},
                              kMiB - 3, kMiB + 3, 5 * kMiB + 1}) {
      blocks.push_back(filled(bytes, ++number));
    }
    for (const Block& block : blocks) wrong += wrong_bytes(block);
    for (std::size_t i = round % 2; i < blocks.size(); ++i) {
      MUST(cuMemFree(blocks[i].address));
      blocks.erase(blocks.begin() + i);
    }
    for (const Block& block : blocks) wrong += wrong_bytes(block);
  }
  CUdeviceptr copy = allocate(5 * kMiB + 1);
  for (const Block& block : blocks) {
    MUST(cuMemcpyDtoD(copy, block.address, block.bytes));
    wrong += wrong_bytes({copy, block.bytes, block.mark});
  }
  std::printf("%d blocks, %zu left, wrong bytes: %zu\n", number, blocks.size(), wrong);
}
