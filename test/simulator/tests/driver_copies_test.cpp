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

// A batch of two in a stream, by cuda.h's rules.
TEST_F(DriverCopies, BatchesCopyAndNeedAStreamOfTheirOwn) {
  const CUdeviceptr memory = allocate(64);
  int given[2] = {11, 22}, got = 0;
  CUstream work = nullptr;
  CALL(cuStreamCreate)(&work, CU_STREAM_NON_BLOCKING);
  CUdeviceptr to[] = {memory, memory + 4};
  CUdeviceptr from[] = {reinterpret_cast<CUdeviceptr>(&given[0]),
                        reinterpret_cast<CUdeviceptr>(&given[1])};
  std::size_t sizes[] = {4, 4}, first = 0;
  CUmemcpyAttributes attributes = {};
  const auto copy = [&](CUstream stream) {
    return CALL(cuMemcpyBatchAsync_v2)(to, from, sizes, 2, &attributes, &first, 1, stream);
  };

  EXPECT_EQ(copy(work), CUDA_ERROR_INVALID_VALUE);  // no order of access
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_EQ(copy(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(work), CUDA_SUCCESS);

  CALL(cuStreamSynchronize)(work);
  CALL(cuMemcpyDtoH_v2)(&got, memory + 4, 4);
  EXPECT_EQ(got, 22);
}

// NVIDIA/cuopt#1753: 900, in any mode.
TEST_F(DriverCopies, BatchesAreNotCaptured) {
  CUdeviceptr memory = allocate(64), other = memory + 32;
  std::size_t bytes = 4, first = 0;
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CUstream work = nullptr;
  CUgraph graph = nullptr;
  CALL(cuStreamCreate)(&work, CU_STREAM_NON_BLOCKING);

  ASSERT_EQ(CALL(cuStreamBeginCapture_v2)(work, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemcpyBatchAsync_v2)(&other, &memory, &bytes, 1, &attributes, &first, 1, work),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
}  // namespace vramscope::simulator
