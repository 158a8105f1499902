// Streams through the driver face: copies really run later, and in the promised order.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

using DriverStreams = DriverTest;

TEST_F(DriverStreams, ACopyInFlightSeesALaterChange) {
  auto* source = static_cast<char*>(pin(64));
  const CUdeviceptr device = allocate(64);
  const CUstream work = stream();
  Gate gate;
  char back = 0;

  source[0] = 1;
  gate.hold(work);
  ASSERT_EQ(CALL(cuMemcpyHtoDAsync_v2)(device, source, 64, work), CUDA_SUCCESS);
  source[0] = 2;  // too early: the copy has not run
  gate.open();
  CALL(cuStreamSynchronize)(work);
  CALL(cuMemcpyDtoH_v2)(&back, device, 1);

  EXPECT_EQ(back, 2);
}

TEST_F(DriverStreams, AReuseTooEarlyCorruptsTheNewOwner) {
  const CUdeviceptr device = allocate(64);
  const CUstream old_owner = stream();
  const CUstream new_owner = stream();
  Gate gate;
  char back = 0;

  gate.hold(old_owner);
  ASSERT_EQ(CALL(cuMemsetD8Async)(device, 1, 64, old_owner), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuMemsetD8Async)(device, 2, 64, new_owner), CUDA_SUCCESS);
  CALL(cuStreamSynchronize)(new_owner);
  gate.open();
  CALL(cuCtxSynchronize)();
  CALL(cuMemcpyDtoH_v2)(&back, device, 1);

  EXPECT_EQ(back, 1);
}

TEST_F(DriverStreams, PageableCopiesAreDoneOnReturn) {
  const CUdeviceptr device = allocate(64);
  const CUstream work = stream();
  char local = 5, back = 0;

  CALL(cuMemcpyHtoDAsync_v2)(device, &local, 1, work);
  local = 6;
  CALL(cuMemcpyDtoHAsync_v2)(&back, device, 1, work);

  EXPECT_EQ(back, 5);
}

TEST_F(DriverStreams, AnswersNotReadyWhileWorkIsPending) {
  const CUstream work = stream();
  CUevent event = nullptr;
  Gate gate;
  CALL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);

  EXPECT_EQ(CALL(cuEventQuery)(event), CUDA_SUCCESS);
  gate.hold(work);
  CALL(cuEventRecord)(event, work);
  EXPECT_EQ(CALL(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(CALL(cuStreamQuery)(work), CUDA_ERROR_NOT_READY);
  gate.open();

  EXPECT_EQ(CALL(cuEventSynchronize)(event), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamSynchronize)(work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamQuery)(work), CUDA_SUCCESS);
}

TEST_F(DriverStreams, TheLegacyStreamWaitsForBlockingStreamsOnly) {
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  const CUstream free_running = stream(CU_STREAM_NON_BLOCKING);
  const CUdeviceptr device = allocate(64);
  Gate blocking_gate, free_gate;

  free_gate.hold(free_running);
  CALL(cuMemsetD8Async)(device, 1, 64, nullptr);
  EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);  // not held by free_running
  blocking_gate.hold(blocking);
  CALL(cuMemsetD8Async)(device, 1, 64, nullptr);
  EXPECT_EQ(CALL(cuStreamQuery)(nullptr), CUDA_ERROR_NOT_READY);
  blocking_gate.open();
  EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
  free_gate.open();
}

TEST_F(DriverStreams, BlockingStreamsWaitForTheLegacyStream) {
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  const CUstream free_running = stream(CU_STREAM_NON_BLOCKING);
  const CUdeviceptr device = allocate(64);
  Gate gate;

  gate.hold(nullptr);
  CALL(cuMemsetD8Async)(device, 1, 64, blocking);
  CALL(cuMemsetD8Async)(device, 1, 64, free_running);
  EXPECT_EQ(CALL(cuStreamSynchronize)(free_running), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamQuery)(blocking), CUDA_ERROR_NOT_READY);
  gate.open();

  EXPECT_EQ(CALL(cuStreamSynchronize)(blocking), CUDA_SUCCESS);
}

TEST_F(DriverStreams, PerThreadTwinsUseAnotherDefaultStream) {
  const CUdeviceptr device = allocate(64);
  const CUstream held = stream(CU_STREAM_DEFAULT);
  Gate gate;

  gate.hold(held);  // the legacy stream would wait for it, the thread's own does not
  CALL(cuMemsetD8Async_ptsz)(device, 1, 64, nullptr);

  EXPECT_EQ(CALL(cuStreamSynchronize_ptsz)(nullptr), CUDA_SUCCESS);
  gate.open();
}

TEST_F(DriverStreams, AStreamWaitsForAnEventOfAnother) {
  const CUstream first = stream();
  const CUstream second = stream();
  const CUdeviceptr device = allocate(64);
  CUevent event = nullptr;
  Gate gate;
  CALL(cuEventCreate)(&event, CU_EVENT_DEFAULT);

  gate.hold(first);
  CALL(cuEventRecord)(event, first);
  CALL(cuStreamWaitEvent)(second, event, 0);
  CALL(cuMemsetD8Async)(device, 1, 64, second);
  EXPECT_EQ(CALL(cuStreamQuery)(second), CUDA_ERROR_NOT_READY);
  gate.open();

  EXPECT_EQ(CALL(cuStreamSynchronize)(second), CUDA_SUCCESS);
}

TEST_F(DriverStreams, FreeWaitsForAllWork) {
  const CUdeviceptr device = allocate(64);
  const CUstream work = stream();
  std::atomic<bool> done = false;

  CALL(cuLaunchHostFunc)
  (
      work, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &done);
  EXPECT_EQ(CALL(cuMemFree_v2)(device), CUDA_SUCCESS);

  EXPECT_TRUE(done);
}

TEST_F(DriverStreams, FreedStreamOrderedMemoryComesBackWhenTheStreamGetsThere) {
  constexpr std::size_t kBytes = 2 << 20;  // in no chunk with others
  const CUstream work = stream();
  const CUstream other = stream();
  CUdeviceptr first = 0, second = 0, third = 0, fourth = 0;
  Gate gate;

  CALL(cuMemAllocAsync)(&first, kBytes, work);
  gate.hold(work);
  CALL(cuMemFreeAsync)(first, work);
  CALL(cuMemAllocAsync)(&second, kBytes, other);
  EXPECT_NE(second, first);
  CALL(cuMemAllocAsync)(&third, kBytes, work);
  EXPECT_EQ(third, first);  // later work of the same stream comes after the free
  CALL(cuMemFreeAsync)(third, work);
  gate.open();
  CALL(cuStreamSynchronize)(work);
  CALL(cuMemAllocAsync)(&fourth, kBytes, other);

  EXPECT_EQ(fourth, first);
  CALL(cuMemFree_v2)(second);
  CALL(cuMemFree_v2)(fourth);
}

TEST_F(DriverStreams, MeasuresTimeBetweenEvents) {
  CUevent start = nullptr, end = nullptr;
  float ms = -1;
  CALL(cuEventCreate)(&start, CU_EVENT_DEFAULT);
  CALL(cuEventCreate)(&end, CU_EVENT_DEFAULT);

  EXPECT_EQ(CALL(cuEventElapsedTime)(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
  CALL(cuEventRecord)(start, nullptr);
  CALL(cuEventRecord)(end, nullptr);
  CALL(cuCtxSynchronize)();

  EXPECT_EQ(CALL(cuEventElapsedTime)(&ms, start, end), CUDA_SUCCESS);
  EXPECT_GE(ms, 0);
}

TEST_F(DriverStreams, KeepTheirAttributes) {
  const CUstream first = stream(), second = stream();
  CUstreamAttrValue domain = {}, priority = {}, told = {};
  domain.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  priority.priority = -2;
  int seen = 0;

  EXPECT_EQ(CALL(cuStreamSetAttribute)(first, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &domain),
            CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamSetAttribute)(first, CU_STREAM_ATTRIBUTE_PRIORITY, &priority),
            CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamGetAttribute)(second, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &told),
            CUDA_SUCCESS);
  EXPECT_EQ(told.syncPolicy, CU_SYNC_POLICY_AUTO);
  EXPECT_EQ(CALL(cuStreamCopyAttributes)(second, first), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuStreamGetAttribute)(second, CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN, &told),
            CUDA_SUCCESS);
  EXPECT_EQ(told.memSyncDomain, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
  EXPECT_EQ(CALL(cuStreamGetPriority)(second, &seen), CUDA_SUCCESS);
  EXPECT_EQ(seen, -2);
  EXPECT_EQ(CALL(cuStreamGetAttribute)(second, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &told),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuStreamCopyAttributes)(second, second), CUDA_SUCCESS);
}

TEST_F(DriverStreams, RefusesHandlesThatEnded) {
  const CUstream gone = stream();
  CUevent event = nullptr;
  CALL(cuEventCreate)(&event, CU_EVENT_DEFAULT);

  EXPECT_EQ(CALL(cuStreamDestroy_v2)(gone), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuEventDestroy_v2)(event), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuStreamSynchronize)(gone), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CALL(cuStreamDestroy_v2)(gone), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CALL(cuEventQuery)(event), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
}  // namespace vramscope::simulator
