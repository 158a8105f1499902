// How device memory is aligned, for every kind of size; and that no two blocks overlap.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "test/programs/driver.h"

static int attribute(CUdevice_attribute which) {
  CUdevice device;
  int value = 0;
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDeviceGetAttribute(&value, which, device));
  return value;
}

int main() {
  start();
  const CUdeviceptr texture = attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  const std::size_t row = attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  std::vector<std::pair<CUdeviceptr, std::size_t>> blocks;
  for (std::size_t bytes :
       {std::size_t{1}, std::size_t{255}, std::size_t{257}, std::size_t{513}, std::size_t{4096},
        kMiB - 1, kMiB + 1, 2 * kMiB, 3 * kMiB + 7, 10 * kMiB, 21 * kMiB - 5}) {
    int aligned = 0, fit_for_textures = 0;
    for (int i = 0; i < 8; ++i) {
      CUdeviceptr block = allocate(bytes);
      aligned += block % 256 == 0;
      fit_for_textures += block % texture == 0;
      blocks.emplace_back(block, bytes);
    }
    std::printf("%zu bytes: of 8 aligned %d, for textures %d\n", bytes, aligned, fit_for_textures);
  }
  for (std::size_t width :
       {std::size_t{1}, std::size_t{511}, std::size_t{513}, std::size_t{4097}}) {
    CUdeviceptr block = 0;
    std::size_t pitch = 0;
    show("pitched", cuMemAllocPitch(&block, &pitch, width, 33, 16));
    std::printf("rows of %zu: fit %d, pitch for textures %d, start %d\n", width, pitch >= width,
                pitch % row == 0, block % texture == 0);
    blocks.emplace_back(block, pitch * 33);
  }
  std::sort(blocks.begin(), blocks.end());
  int overlaps = 0;
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    overlaps += blocks[i - 1].first + blocks[i - 1].second > blocks[i].first;
  }
  for (auto [block, bytes] : blocks) MUST(cuMemFree(block));
  std::printf("overlaps: %d\n", overlaps);
}
