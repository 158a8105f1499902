// Copies and sets through the driver face: the bytes arrive, wrong ranges do not.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <numeric>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

using DriverCopies = DriverTest;

TEST_F(DriverCopies, SetsPatternsOfEachWidth) {
  const CUdeviceptr device = allocate(64);
  std::array<unsigned char, 8> back = {};

  CALL(cuMemsetD32_v2)(device, 0x04030201, 1);
  CALL(cuMemsetD16_v2)(device + 4, 0x0605, 1);
  CALL(cuMemsetD8_v2)(device + 6, 7, 2);
  CALL(cuMemcpyDtoH_v2)(back.data(), device, 8);

  EXPECT_EQ(back, (std::array<unsigned char, 8>{1, 2, 3, 4, 5, 6, 7, 7}));
  EXPECT_EQ(CALL(cuMemsetD32_v2)(device + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverCopies, RefusesRangesThatLeaveTheAllocation) {
  const CUdeviceptr device = allocate(64);
  char local[128] = {};

  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(device, local, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(local, device + 64, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemsetD8_v2)(device, 0, 65), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(device, local, 0), CUDA_SUCCESS);
}

TEST_F(DriverCopies, GivesPagesThatWereWrittenBackClean) {
  for (const std::size_t bytes : {std::size_t{8192}, std::size_t{3} << 20}) {
    const CUdeviceptr neighbour = allocate(bytes);
    const CUdeviceptr device = allocate(bytes);
    std::array<unsigned char, 2> back = {};

    CALL(cuMemsetD8_v2)(neighbour, 7, bytes);
    CALL(cuMemsetD8_v2)(device, 9, bytes);
    CALL(cuMemFree_v2)(device);
    EXPECT_EQ(allocate(bytes), device);
    CALL(cuMemcpyDtoH_v2)(back.data(), device + 4096, 1);
    CALL(cuMemcpyDtoH_v2)(back.data() + 1, neighbour + bytes - 1, 1);

    EXPECT_EQ(back, (std::array<unsigned char, 2>{0, 7})) << bytes;
  }
}

TEST_F(DriverCopies, CopiesBoxesBetweenPitches) {
  const CUdeviceptr device = allocate(64);
  const char rows[] = "abcdefgh";  // two rows of four
  char back[9] = "........";
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = rows;
  copy.srcPitch = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = 16;
  copy.WidthInBytes = 4;
  copy.Height = 2;

  EXPECT_EQ(CALL(cuMemcpy2D_v2)(&copy), CUDA_SUCCESS);
  CALL(cuMemcpyDtoH_v2)(back, device + 16, 4);

  EXPECT_STREQ(back, "efgh....");
}

TEST_F(DriverCopies, CopiesSlices) {
  const CUdeviceptr device = allocate(64);
  char host[16], back[16] = {};
  std::iota(std::begin(host), std::end(host), char{0});
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = 4;
  copy.srcHeight = 2;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = 4;
  copy.dstHeight = 2;
  copy.WidthInBytes = 4;
  copy.Height = 2;
  copy.Depth = 2;

  EXPECT_EQ(CALL(cuMemcpy3D_v2)(&copy), CUDA_SUCCESS);
  CALL(cuMemcpyDtoH_v2)(back, device, 16);

  EXPECT_EQ(std::memcmp(back, host, 16), 0);
}

}  // namespace
}  // namespace vramscope::simulator
