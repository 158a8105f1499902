// What arrays take, by their descriptors.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/array_bytes.h"

#include <gtest/gtest.h>

namespace vramscope::test {
namespace {

struct Row {
  std::size_t width, height, depth;
  CUarray_format format;
  unsigned int channels, flags, levels;
  std::size_t bytes;
};

TEST(ArrayBytes, AreThoseOfItsElements) {
  constexpr Row kRows[] = {
      {100, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, 1, 100},
      {64, 32, 0, CU_AD_FORMAT_FLOAT, 4, 0, 1, 64 * 32 * 16},
      {64, 32, 8, CU_AD_FORMAT_HALF, 2, 0, 1, 64 * 32 * 8 * 4},
      {64, 64, 6, CU_AD_FORMAT_SIGNED_INT16, 1, CUDA_ARRAY3D_CUBEMAP, 1, 64 * 64 * 6 * 2},
      // each level has half of everything but layers
      {8, 8, 8, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0, 4, 4 * (512 + 64 + 8 + 1)},
      {8, 8, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_LAYERED, 2, 4 * 3 * (64 + 16)},
      {16, 16, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0, 1000, 256 + 64 + 16 + 4 + 1 + 27},
      // blocks of 4 x 4 elements
      {64, 64, 0, CU_AD_FORMAT_BC1_UNORM, 4, 0, 1, 64 * 64 / 2},
      {5, 5, 0, CU_AD_FORMAT_BC7_UNORM, 4, 0, 1, 64},
      // planes, and channels in the name
      {64, 64, 0, CU_AD_FORMAT_NV12, 3, 0, 1, 64 * 64 * 3 / 2},
      {64, 64, 0, CU_AD_FORMAT_UNORM_INT16X4, 4, 0, 1, 64 * 64 * 8},
      // memory comes when it is mapped
      {64, 64, 0, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_SPARSE, 1, 0},
      {64, 64, 0, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_DEFERRED_MAPPING, 1, 0},
  };
  for (const Row& row : kRows) {
    const CUDA_ARRAY3D_DESCRIPTOR array{.Width = row.width,
                                        .Height = row.height,
                                        .Depth = row.depth,
                                        .Format = row.format,
                                        .NumChannels = row.channels,
                                        .Flags = row.flags};
    EXPECT_EQ(array_bytes(array, row.levels), row.bytes)
        << row.width << " x " << row.height << " x " << row.depth << ", format " << row.format;
  }
}

TEST(ArrayBytes, OfOldDescriptorsAreTheSame) {
  const CUDA_ARRAY_DESCRIPTOR_v1 flat{
      .Width = 7, .Height = 5, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
  EXPECT_EQ(array_bytes(flat), 7u * 5 * 8);
}

}  // namespace
}  // namespace vramscope::test
