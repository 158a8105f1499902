// Two devices through the driver face (VRAMSCOPE_SIM=devices=2): peers, copies, contexts, events.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <thread>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

class DriverPeers : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain)(&second_, 1), CUDA_SUCCESS);
  }
  void TearDown() override {
    DriverTest::TearDown();
    CALL(cuDevicePrimaryCtxReset_v2)(1);
  }

  void use(CUcontext context) { ASSERT_EQ(CALL(cuCtxSetCurrent)(context), CUDA_SUCCESS); }

  std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(CALL(cuMemGetInfo_v2)(&free, &total), CUDA_SUCCESS);
    return free;
  }

  CUcontext second_ = nullptr;
};

TEST_F(DriverPeers, AreEnabledAndDisabledOnce) {
  int can = 0;
  EXPECT_EQ(CALL(cuDeviceCanAccessPeer)(&can, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(can, 1);

  EXPECT_EQ(CALL(cuCtxDisablePeerAccess)(second_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess)(second_, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess)(context_, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess)(second_, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess)(second_, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(CALL(cuCtxDisablePeerAccess)(second_), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuCtxDisablePeerAccess)(second_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

TEST_F(DriverPeers, EndWithTheirContext) {
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess)(second_, 0), CUDA_SUCCESS);
  CALL(cuDevicePrimaryCtxReset_v2)(1);
  EXPECT_EQ(CALL(cuCtxDisablePeerAccess)(second_), CUDA_ERROR_INVALID_CONTEXT);
  CALL(cuDevicePrimaryCtxRetain)(&second_, 1);

  EXPECT_EQ(CALL(cuCtxDisablePeerAccess)(second_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

TEST_F(DriverPeers, ContextsOfOneDeviceAreNone) {
  CUcontext beside = nullptr;
  CALL(cuCtxCreate_v2)(&beside, 0, 0);

  EXPECT_EQ(CALL(cuCtxEnablePeerAccess)(context_, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);

  CALL(cuCtxDestroy_v2)(beside);
}

// ROCm/rocm-systems#4508.
TEST_F(DriverPeers, DoNotBreakEachOthersCaptures) {
  CUstream work = nullptr;
  CUgraph graph = nullptr;
  CALL(cuStreamCreate)(&work, CU_STREAM_DEFAULT);
  use(second_);
  CUdeviceptr memory = 0;
  CALL(cuMemAlloc_v2)(&memory, 64);
  use(context_);

  ASSERT_EQ(CALL(cuStreamBeginCapture_v2)(work, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  use(second_);
  EXPECT_EQ(CALL(cuMemsetD8Async)(memory, 1, 64, nullptr), CUDA_SUCCESS);
  use(context_);

  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_SUCCESS);
  CALL(cuGraphDestroy)(graph);
}

TEST_F(DriverPeers, TellAboutTheirLink) {
  int value = 0;

  EXPECT_EQ(CALL(cuDeviceGetP2PAttribute)(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1),
            CUDA_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(CALL(cuDeviceGetP2PAttribute)(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1),
            CUDA_ERROR_INVALID_DEVICE);

  EXPECT_EQ(CALL(cuDeviceGetP2PAttribute)(nullptr, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverPeers, CopiesReachThemWithoutAccess) {
  const CUdeviceptr here = allocate(64);
  char back[8] = {};
  use(second_);
  const CUdeviceptr there = allocate(64);

  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(here, "through", 8), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyPeer)(there, second_, here, context_, 8), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpy)(here + 8, there, 8), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(back, here + 8, 8), CUDA_SUCCESS);
  EXPECT_STREQ(back, "through");

  EXPECT_EQ(CALL(cuMemcpyPeer)(there, nullptr, here, context_, 8), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverPeers, MemoryIsFreedFromAnyContext) {
  const std::size_t before = free_bytes();
  const CUdeviceptr pointer = allocate(4 * kMiB);
  CUcontext owner = nullptr;
  int ordinal = -1;
  use(second_);
  const std::size_t beside = free_bytes();

  EXPECT_EQ(CALL(cuPointerGetAttribute)(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, pointer),
            CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer),
            CUDA_SUCCESS);
  EXPECT_EQ(owner, context_);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), beside);
  use(context_);

  EXPECT_EQ(free_bytes(), before);
}

// pytorch#50925: a free waits for devices that have peer access.
TEST_F(DriverPeers, FreesWaitForThoseThatHaveAccess) {
  for (const bool has_access : {false, true}) {
    const CUdeviceptr pointer = allocate(4 * kMiB);
    use(second_);
    if (has_access) {
      EXPECT_EQ(CALL(cuCtxEnablePeerAccess)(context_, 0), CUDA_SUCCESS);
    }
    const CUstream there = stream();
    use(context_);
    Gate gate;
    gate.hold(there);
    std::atomic<bool> is_opened{false};
    std::thread opens;
    if (has_access) {
      opens = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        is_opened = true;
        gate.open();
      });
    }

    EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_SUCCESS);
    EXPECT_EQ(is_opened, has_access);

    if (opens.joinable()) opens.join();
    if (!has_access) gate.open();
  }
  use(second_);
  EXPECT_EQ(CALL(cuCtxDisablePeerAccess)(context_), CUDA_SUCCESS);
  use(context_);
}

TEST_F(DriverPeers, PoolsTellWhoMayReachThem) {
  CUmemoryPool pool = nullptr;
  CUmemLocation other = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  const CUmemAccessDesc open = {other, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const CUmemAccessDesc closed = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}},
                                  CU_MEM_ACCESS_FLAGS_PROT_NONE};
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_MAX;
  CUdeviceptr pointer = 0;
  CALL(cuDeviceGetDefaultMemPool)(&pool, 0);

  EXPECT_EQ(CALL(cuMemPoolGetAccess)(&flags, pool, &other), CUDA_SUCCESS);
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_EQ(CALL(cuMemPoolSetAccess)(pool, &open, 1), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemPoolGetAccess)(&flags, pool, &other), CUDA_SUCCESS);
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(CALL(cuMemPoolSetAccess)(pool, &closed, 1), CUDA_ERROR_INVALID_VALUE);
  use(second_);
  EXPECT_EQ(CALL(cuDeviceSetMemPool)(1, pool), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&pointer, 64, pool, stream()), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, stream()), CUDA_SUCCESS);
}

TEST_F(DriverPeers, MemoryInOrderIsOnTheStreamsDevice) {
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  int device = -1;
  use(second_);
  ASSERT_EQ(CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  use(context_);

  ASSERT_EQ(CALL(cuMemAllocAsync)(&memory, kMiB, stream), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory),
            CUDA_SUCCESS);
  EXPECT_EQ(device, 1);

  EXPECT_EQ(CALL(cuMemFreeAsync)(memory, stream), CUDA_SUCCESS);
  CALL(cuStreamDestroy_v2)(stream);
}

TEST_F(DriverPeers, StreamsWaitForEventsOfAnotherDevice) {
  const CUstream here = stream();
  const CUdeviceptr pointer = allocate(64);
  CUevent event = nullptr;
  unsigned char back = 0;
  Gate gate;
  CALL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);
  gate.hold(here);
  CALL(cuMemsetD8Async)(pointer, 5, 64, here);
  CALL(cuEventRecord)(event, here);
  use(second_);
  const CUstream there = stream();
  const CUdeviceptr target = allocate(64);

  EXPECT_EQ(CALL(cuEventRecord)(event, there), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CALL(cuStreamWaitEvent)(there, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyPeerAsync)(target, second_, pointer, context_, 64, there), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamQuery)(there), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(CALL(cuStreamSynchronize)(there), CUDA_SUCCESS);
  CALL(cuMemcpyDtoH_v2)(&back, target, 1);

  EXPECT_EQ(back, 5);
}

TEST_F(DriverPeers, EachThreadHasItsOwnDefaultStreamOnEachDevice) {
  CUcontext found[2] = {};
  for (int i = 0; i < 2; ++i) {
    use(i == 0 ? context_ : second_);
    EXPECT_EQ(CALL(cuStreamGetCtx)(CU_STREAM_PER_THREAD, &found[i]), CUDA_SUCCESS);
  }
  unsigned long long mine = 0, others = 0;
  CALL(cuStreamGetId)(CU_STREAM_PER_THREAD, &mine);
  std::thread([&] {
    CALL(cuCtxSetCurrent)(second_);
    CALL(cuStreamGetId)(CU_STREAM_PER_THREAD, &others);
  }).join();

  EXPECT_EQ(found[0], context_);
  EXPECT_EQ(found[1], second_);
  EXPECT_NE(mine, others);
}

TEST_F(DriverPeers, ContextsAreDestroyedWithTheLastDetach) {
  CUcontext made = nullptr, attached = nullptr;
  unsigned long long id = 0;
  CALL(cuCtxCreate_v2)(&made, 0, 1);

  EXPECT_EQ(CALL(cuCtxAttach)(&attached, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuCtxAttach)(&attached, 0), CUDA_SUCCESS);
  EXPECT_EQ(attached, made);
  EXPECT_EQ(CALL(cuCtxDetach)(context_), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CALL(cuCtxDetach)(made), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuCtxGetId)(made, &id), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuCtxDetach)(made), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuCtxGetId)(made, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

}  // namespace
}  // namespace vramscope::simulator
