// The simulated driver through its own door: bytes, asynchrony, error codes, captures.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "test/simulator/vendor.h"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// One primary context for the process: the driver starts once.
class Driver : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  }
  void SetUp() override { ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS); }

  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }

  static CUcontext context;
};
CUcontext Driver::context = nullptr;

// Holds a stream up until it is told to go on: what is submitted behind it stays in flight.
struct Gate {
  std::atomic<bool> open{false};
  static void CUDA_CB wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open.load()) {
    }
  }
};

using DriverDeathTest = Driver;

TEST_F(DriverDeathTest, TheHostCannotReadDeviceMemory) {
  const CUdeviceptr address = allocate(kMiB);

  EXPECT_DEATH(
      {
        volatile char byte = *reinterpret_cast<volatile char*>(address);
        (void)byte;
      },
      "");

  EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(Driver, BytesComeBackAsTheyWereSent) {
  std::vector<unsigned char> sent(3 * kMiB);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(i * 7);
  std::vector<unsigned char> received(sent.size());
  const CUdeviceptr first = allocate(sent.size());
  const CUdeviceptr second = allocate(sent.size());

  EXPECT_EQ(cuMemcpyHtoD_v2(first, sent.data(), sent.size()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD_v2(second, first, sent.size()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH_v2(received.data(), second, sent.size()), CUDA_SUCCESS);

  EXPECT_EQ(sent, received);
  EXPECT_EQ(cuMemFree_v2(first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(second), CUDA_SUCCESS);
}

// What makes a block that is reused too early visible.
TEST_F(Driver, ACopyInFlightReadsItsSourceWhenItRuns) {
  Gate gate;
  CUstream stream = nullptr;
  void* pinned = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuMemHostAlloc(&pinned, kMiB, 0), CUDA_SUCCESS);
  const CUdeviceptr address = allocate(kMiB);
  std::memset(pinned, 1, kMiB);

  ASSERT_EQ(cuLaunchHostFunc(stream, Gate::wait, &gate), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(address, pinned, kMiB, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  std::memset(pinned, 2, kMiB);  // too early
  gate.open = true;
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);

  unsigned char seen = 0;
  EXPECT_EQ(cuMemcpyDtoH_v2(&seen, address + kMiB - 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(Driver, AFreeWaitsForWhatWasSubmittedBefore) {
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const CUdeviceptr address = allocate(8 * kMiB);
  static std::atomic<bool> finished{false};
  finished = false;

  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(cuMemsetD8Async(address, static_cast<unsigned char>(i), 8 * kMiB, stream),
              CUDA_SUCCESS);
  }
  ASSERT_EQ(cuLaunchHostFunc(
                stream, [](void*) { finished = true; }, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);

  EXPECT_TRUE(finished);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(Driver, WrongFreesAreInvalidAndFreeNothing) {
  const CUdeviceptr address = allocate(kMiB);

  EXPECT_EQ(cuMemFree_v2(address + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(0x1000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, ZeroBytesAndTooManyAreRefused) {
  CUdeviceptr address = 42;

  EXPECT_EQ(cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc_v2(&address, std::size_t{1} << 45), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(address, 42u);
}

TEST_F(Driver, FreeMemoryFallsByTheRequestInSteps) {
  std::size_t before = 0;
  std::size_t during = 0;
  std::size_t after = 0;
  std::size_t total = 0;

  EXPECT_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
  const CUdeviceptr address = allocate(5 * kMiB);
  EXPECT_EQ(cuMemGetInfo_v2(&during, &total), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);

  EXPECT_EQ(before - during, 6 * kMiB);  // steps of 2 MiB
  EXPECT_EQ(address % (2 * kMiB), 0u);
  EXPECT_EQ(before, after);
}

TEST_F(Driver, SmallAllocationsStartAt512Bytes) {
  const CUdeviceptr first = allocate(1);
  const CUdeviceptr second = allocate(1000);

  EXPECT_EQ(first % 512, 0u);
  EXPECT_EQ(second % 512, 0u);
  EXPECT_EQ(cuMemFree_v2(first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(second), CUDA_SUCCESS);
}

TEST_F(Driver, RegistrationsMustNotOverlap) {
  std::vector<char> memory(64 * 1024);

  EXPECT_EQ(cuMemHostRegister_v2(memory.data(), 32 * 1024, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostRegister_v2(memory.data() + 16 * 1024, 1024, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(memory.data() + 40 * 1024), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(memory.data()), CUDA_SUCCESS);
}

TEST_F(Driver, AnAllocationInvalidatesAGlobalCapture) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr address = 0;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);

  ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc_v2(&address, kMiB), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  EXPECT_EQ(cuMemAlloc_v2(&address, kMiB), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(Driver, TheLookupAnswersTheNewestThatIsOldEnough) {
  void* older = nullptr;
  void* newer = nullptr;
  void* none = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;

  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &older, 2000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &newer, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(older, reinterpret_cast<void*>(&cuMemAlloc));
  EXPECT_EQ(newer, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAllocAsync", &newer, 13000,
                                CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
            CUDA_SUCCESS);
  EXPECT_EQ(newer, reinterpret_cast<void*>(&cuMemAllocAsync_ptsz));
  // cuda.h: success, and null for a name that the driver does not have.
  EXPECT_EQ(cuGetProcAddress_v2("cuNothing", &none, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(none, nullptr);
}

TEST_F(Driver, AResetContextComesBackUnderItsHandle) {
  const CUdeviceptr old = allocate(kMiB);

  EXPECT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  CUcontext again = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(again), CUDA_SUCCESS);

  EXPECT_EQ(again, context);
  EXPECT_EQ(cuMemFree_v2(old), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
