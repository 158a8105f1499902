// Stream capture through the driver face: what it forbids, what it records.
// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

using DriverCapture = DriverTest;

CUresult begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
  return CALL(cuStreamBeginCapture_v2)(stream, mode);
}

CUstreamCaptureStatus status_of(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(CALL(cuStreamIsCapturing)(stream, &status), CUDA_SUCCESS);
  return status;
}

TEST_F(DriverCapture, AnAllocationInvalidatesAGlobalCapture) {
  const CUstream work = stream();
  CUdeviceptr pointer = 0;
  CUgraph graph = nullptr;

  ASSERT_EQ(begin(work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, 100), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(status_of(work), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, 100), CUDA_SUCCESS);
}

TEST_F(DriverCapture, AnAllocationOnAnotherThreadDoesSoToo) {
  const CUstream work = stream();
  CUresult result = CUDA_SUCCESS;

  ASSERT_EQ(begin(work), CUDA_SUCCESS);
  std::thread([&] {
    CUdeviceptr pointer = 0;
    CALL(cuCtxSetCurrent)(context_);
    result = CALL(cuMemAlloc_v2)(&pointer, 100);
  }).join();

  EXPECT_EQ(result, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_F(DriverCapture, ARelaxedThreadMayAllocate) {
  const CUstream work = stream();
  CUdeviceptr pointer = 0;
  CUgraph graph = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

  ASSERT_EQ(begin(work), CUDA_SUCCESS);
  CALL(cuThreadExchangeStreamCaptureMode)(&mode);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, 100), CUDA_SUCCESS);
  CALL(cuThreadExchangeStreamCaptureMode)(&mode);

  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphDestroy)(graph), CUDA_SUCCESS);
}

TEST_F(DriverCapture, RecordsWorkForLater) {
  const CUstream work = stream();
  const CUdeviceptr device = allocate(64);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  unsigned char back = 0;
  CALL(cuMemsetD8_v2)(device, 1, 64);

  ASSERT_EQ(begin(work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemsetD8Async)(device, 2, 64, work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_SUCCESS);
  CALL(cuMemcpyDtoH_v2)(&back, device, 1);
  EXPECT_EQ(back, 1);
  EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, work), CUDA_SUCCESS);
  CALL(cuStreamSynchronize)(work);
  CALL(cuMemcpyDtoH_v2)(&back, device, 1);

  EXPECT_EQ(back, 2);
}

TEST_F(DriverCapture, WaitingForACapturingStreamInvalidates) {
  const CUstream work = stream();

  ASSERT_EQ(begin(work, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamSynchronize)(work), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);

  EXPECT_EQ(status_of(work), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
}

// hip-tests graph/hipStreamBeginCapture.cc:802 and NVIDIA/TensorRT#2888.
TEST_F(DriverCapture, NoModeMakesAWaitForItsContextSafe) {
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const CUstream work = stream();
    CUgraph graph = nullptr;
    ASSERT_EQ(begin(work, mode), CUDA_SUCCESS);

    CUresult of_other_thread = CUDA_SUCCESS;
    std::thread([&] {
      CALL(cuCtxSetCurrent)(context_);
      of_other_thread = CALL(cuCtxSynchronize)();
    }).join();

    EXPECT_EQ(of_other_thread, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) << mode;
    EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}

TEST_F(DriverCapture, AWaitForAnotherContextLeavesARelaxedCaptureAlone) {
  const CUstream work = stream();
  CUcontext other = nullptr;
  CUgraph graph = nullptr;
  ASSERT_EQ(begin(work, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);

  ASSERT_EQ(CALL(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
  CALL(cuCtxDestroy_v2)(other);

  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_SUCCESS);
  CALL(cuGraphDestroy)(graph);
}

// hip-tests graph/hipStreamBeginCapture.cc:802 (CapturedEvent): refused; an H200's driver: and the
// capture is invalidated, whatever its mode.
TEST_F(DriverCapture, AnEventThatACaptureRecordedIsRefusedAndEndsItsUse) {
  const auto codes = {CALL(cuEventQuery), CALL(cuEventSynchronize)};
  for (const auto ask : codes) {
    const CUstream work = stream(), other = stream();
    CUevent event = nullptr;
    CUgraph graph = nullptr;
    CALL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);
    ASSERT_EQ(begin(work, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    ASSERT_EQ(begin(other, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    CALL(cuEventRecord)(event, work);

    EXPECT_EQ(ask(event), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(CALL(cuStreamEndCapture)(other, &graph), CUDA_SUCCESS);

    CALL(cuGraphDestroy)(graph);
  }
}

// NVIDIA/cccl#11360, ml-explore/mlx#2850.
TEST_F(DriverCapture, CallsOnPoolsBesideItAreUnsafe) {
  const CUstream work = stream(), side = stream();
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  cuuint64_t value = 0;
  CALL(cuMemAllocAsync)(&memory, 100, side);
  ASSERT_EQ(begin(work), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);
  EXPECT_EQ(status_of(work), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(CALL(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(CALL(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(CALL(cuMemFreeAsync)(memory, side), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(status_of(work), CU_STREAM_CAPTURE_STATUS_INVALIDATED);

  CALL(cuStreamDestroy_v2)(work);
  EXPECT_EQ(CALL(cuMemFreeAsync)(memory, side), CUDA_SUCCESS);
}

// NVIDIA/warp#992 and cuda_util.h:263, google-deepmind/mujoco_warp#425.
TEST_F(DriverCapture, EndsOfGraphsBesideItAndIdsOfItsStreamsAreUnsafe) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  unsigned long long id = 0;
  CALL(cuGraphCreate)(&graph, 0);
  CALL(cuGraphInstantiateWithFlags)(&executable, graph, 0);
  const auto refused = [this](auto call) {
    const CUstream work = stream();
    EXPECT_EQ(begin(work), CUDA_SUCCESS);
    EXPECT_EQ(call(work), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(status_of(work), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CALL(cuStreamDestroy_v2)(work);
  };

  refused([&](CUstream) { return CALL(cuGraphDestroy)(graph); });
  refused([&](CUstream) { return CALL(cuGraphExecDestroy)(executable); });
  refused([&](CUstream) { return CALL(cuModuleUnload)(nullptr); });
  refused([&](CUstream work) { return CALL(cuStreamGetId)(work, &id); });

  EXPECT_EQ(CALL(cuGraphExecDestroy)(executable), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphDestroy)(graph), CUDA_SUCCESS);
}

// hip-tests graph/hipStreamBeginCapture.cc:1407 (side stream).
TEST_F(DriverCapture, WaitingForAStreamBesideItIsAnUnsafeCall) {
  const CUstream work = stream();
  const CUstream side = stream();
  CUgraph graph = nullptr;

  ASSERT_EQ(begin(work, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamSynchronize)(side), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(begin(work, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamSynchronize)(side), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_SUCCESS);
  CALL(cuGraphDestroy)(graph);
}

TEST_F(DriverCapture, LegacyWorkBesideABlockingCaptureIsImplicit) {
  const CUdeviceptr device = allocate(64);
  const CUstream work = stream(CU_STREAM_DEFAULT);

  ASSERT_EQ(begin(work, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemsetD8Async)(device, 1, 64, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status_of(work), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
}

TEST_F(DriverCapture, TheLegacyStreamCannotBeCaptured) {
  CUgraph graph = nullptr;

  EXPECT_EQ(begin(nullptr), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(CALL(cuStreamEndCapture)(stream(), &graph), CUDA_ERROR_ILLEGAL_STATE);
}

TEST_F(DriverCapture, StreamsJoinByEventsAndMustBeJoinedBack) {
  const CUstream origin = stream();
  const CUstream branch = stream();
  CUevent fork = nullptr, join = nullptr;
  CUgraph graph = nullptr;
  CALL(cuEventCreate)(&fork, CU_EVENT_DISABLE_TIMING);
  CALL(cuEventCreate)(&join, CU_EVENT_DISABLE_TIMING);

  ASSERT_EQ(begin(origin), CUDA_SUCCESS);
  CALL(cuEventRecord)(fork, origin);
  EXPECT_EQ(CALL(cuStreamWaitEvent)(branch, fork, 0), CUDA_SUCCESS);
  EXPECT_EQ(status_of(branch), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CALL(cuEventRecord)(join, branch);
  EXPECT_EQ(CALL(cuStreamWaitEvent)(origin, join, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamEndCapture)(origin, &graph), CUDA_SUCCESS);
  EXPECT_EQ(status_of(branch), CU_STREAM_CAPTURE_STATUS_NONE);

  ASSERT_EQ(begin(origin), CUDA_SUCCESS);
  CALL(cuEventRecord)(fork, origin);
  CALL(cuStreamWaitEvent)(branch, fork, 0);
  EXPECT_EQ(CALL(cuStreamEndCapture)(origin, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

// As doNegateSquaresInStream in NVIDIA's sample graphMemoryNodes does.
TEST_F(DriverCapture, AStreamThatIsJoinedBackMayEndMeanwhile) {
  const CUstream origin = stream();
  const CUdeviceptr device = allocate(64);
  CUevent fork = nullptr, join = nullptr;
  CUgraph graph = nullptr;
  CALL(cuEventCreate)(&fork, CU_EVENT_DISABLE_TIMING);
  CALL(cuEventCreate)(&join, CU_EVENT_DISABLE_TIMING);

  for (const bool is_joined : {true, false}) {
    const CUstream branch = stream();
    ASSERT_EQ(begin(origin), CUDA_SUCCESS);
    CALL(cuEventRecord)(fork, origin);
    CALL(cuStreamWaitEvent)(branch, fork, 0);
    CALL(cuMemsetD8Async)(device, 1, 64, branch);
    CALL(cuEventRecord)(join, branch);
    if (is_joined) CALL(cuStreamWaitEvent)(origin, join, 0);
    EXPECT_EQ(CALL(cuStreamDestroy_v2)(branch), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuStreamEndCapture)(origin, &graph),
              is_joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (is_joined) CALL(cuGraphDestroy)(graph);
  }
}

TEST_F(DriverCapture, ShowsItsGraphAndWhereAStreamHasGotTo) {
  const CUstream work = stream();
  const CUdeviceptr device = allocate(64);
  CUgraph seen = nullptr, graph = nullptr;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* after = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  CUgraphNode extra = nullptr, last = nullptr;
  std::size_t count = 0;
  cuuint64_t id = 0;

  ASSERT_EQ(begin(work), CUDA_SUCCESS);
  CALL(cuMemsetD8Async)(device, 2, 64, work);
  EXPECT_EQ(CALL(cuStreamGetCaptureInfo_v3)(work, &status, &id, &seen, &after, &edges, &count),
            CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(CALL(cuGraphAddEmptyNode)(&extra, seen, after, count), CUDA_SUCCESS);
  EXPECT_EQ(
      CALL(cuStreamUpdateCaptureDependencies)(work, &extra, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
      CUDA_SUCCESS);
  CALL(cuMemsetD8Async)(device, 3, 64, work);
  EXPECT_EQ(CALL(cuStreamGetCaptureInfo_v2)(work, &status, &id, nullptr, &after, &count),
            CUDA_SUCCESS);
  last = after[0];
  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphNodeGetDependencies)(last, &last, &count), CUDA_SUCCESS);

  EXPECT_EQ(graph, seen);
  EXPECT_EQ(last, extra);
  CALL(cuGraphDestroy)(graph);
}

TEST_F(DriverCapture, ContinuesAGraphOfTheProgram) {
  const CUstream work = stream();
  CUgraph given = nullptr, graph = nullptr;
  CUgraphNode root = nullptr;
  CUgraphExec executable = nullptr;
  std::size_t count = 0;
  CALL(cuGraphCreate)(&given, 0);
  CALL(cuGraphAddEmptyNode)(&root, given, nullptr, 0);

  EXPECT_EQ(CALL(cuStreamBeginCaptureToGraph)(work, given, &root, nullptr, 1,
                                              CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&executable, given, 0), CUDA_ERROR_INVALID_VALUE);
  CALL(cuLaunchHostFunc)
  (
      work, [](void*) {}, nullptr);
  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_SUCCESS);
  EXPECT_EQ(graph, given);
  EXPECT_EQ(CALL(cuGraphNodeGetDependentNodes)(root, nullptr, &count), CUDA_SUCCESS);

  EXPECT_EQ(count, 1u);
  CALL(cuGraphDestroy)(given);
}

TEST_F(DriverCapture, WorkAfterTheEventIsNotJoined) {
  const CUstream origin = stream();
  const CUstream branch = stream();
  const CUdeviceptr device = allocate(64);
  CUevent fork = nullptr, join = nullptr;
  CUgraph graph = nullptr;
  CALL(cuEventCreate)(&fork, CU_EVENT_DISABLE_TIMING);
  CALL(cuEventCreate)(&join, CU_EVENT_DISABLE_TIMING);

  ASSERT_EQ(begin(origin), CUDA_SUCCESS);
  CALL(cuEventRecord)(fork, origin);
  CALL(cuStreamWaitEvent)(branch, fork, 0);
  CALL(cuEventRecord)(join, branch);
  CALL(cuMemsetD8Async)(device, 3, 64, branch);
  CALL(cuStreamWaitEvent)(origin, join, 0);

  EXPECT_EQ(CALL(cuStreamEndCapture)(origin, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST_F(DriverCapture, EventsOutsideBecomeNodesWhenAskedFor) {
  const CUstream work = stream();
  CUevent event = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode nodes[2] = {};
  CUgraphNodeType types[2] = {};
  std::size_t count = 2;
  CALL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);

  EXPECT_EQ(CALL(cuEventRecordWithFlags)(event, work, CU_EVENT_RECORD_EXTERNAL),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(begin(work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamWaitEvent)(work, event, CU_EVENT_WAIT_EXTERNAL), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuEventRecordWithFlags)(event, work, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuStreamEndCapture)(work, &graph), CUDA_SUCCESS);
  CALL(cuGraphGetNodes)(graph, nodes, &count);
  for (int i = 0; i < 2; ++i) CALL(cuGraphNodeGetType)(nodes[i], &types[i]);

  EXPECT_EQ(count, 2u);
  EXPECT_EQ(types[0], CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  EXPECT_EQ(types[1], CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  CALL(cuGraphDestroy)(graph);
}

TEST_F(DriverCapture, EndsWithItsStreamOrContext) {
  const CUstream work = stream();
  CUdeviceptr pointer = 0;

  ASSERT_EQ(begin(work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamDestroy_v2)(work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, 100), CUDA_SUCCESS);
  ASSERT_EQ(begin(stream()), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuDevicePrimaryCtxReset_v2)(0), CUDA_SUCCESS);
  SetUp();

  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, 100), CUDA_SUCCESS);
}

}  // namespace
}  // namespace vramscope::simulator
