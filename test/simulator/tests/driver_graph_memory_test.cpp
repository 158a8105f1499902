// Memory of graphs through the driver face: allocation and free nodes, captured or added.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

class DriverGraphMemory : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(CALL(cuGraphCreate)(&graph_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    CALL(cuGraphDestroy)(graph_);
    CALL(cuCtxSynchronize)();
    EXPECT_EQ(CALL(cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);
    DriverTest::TearDown();
  }

  CUdeviceptr add_allocation(std::size_t bytes, CUgraphNode* node) {
    CUDA_MEM_ALLOC_NODE_PARAMS told = {};
    told.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    told.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    told.bytesize = bytes;
    EXPECT_EQ(CALL(cuGraphAddMemAllocNode)(node, graph_, nullptr, 0, &told), CUDA_SUCCESS);
    return told.dptr;
  }

  CUgraphExec instantiate(CUgraph graph, unsigned long long flags = 0) {
    CUgraphExec executable = nullptr;
    EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&executable, graph, flags), CUDA_SUCCESS);
    return executable;
  }

  cuuint64_t attribute(CUgraphMem_attribute name) {
    cuuint64_t value = 0;
    EXPECT_EQ(CALL(cuDeviceGetGraphMemAttribute)(0, name, &value), CUDA_SUCCESS);
    return value;
  }

  CUgraph graph_ = nullptr;
};

// Programming guide 16.4.2 and 16.6; cuda-python test_cuda.py, test_cuda_graphMem_attr: what is
// used is what is mapped, in whole granules.
TEST_F(DriverGraphMemory, IsTakenWithTheFirstLaunchAndKeptUntilATrim) {
  CUgraphNode node = nullptr, last = nullptr;
  const std::size_t before = free_bytes();
  const CUdeviceptr pointer = add_allocation(3 * kMiB, &node);
  ASSERT_EQ(CALL(cuGraphAddMemFreeNode)(&last, graph_, &node, 1, pointer), CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph_);
  EXPECT_EQ(free_bytes(), before);

  EXPECT_EQ(CALL(cuGraphLaunch)(executable, nullptr), CUDA_SUCCESS);
  CALL(cuStreamSynchronize)(nullptr);
  EXPECT_EQ(free_bytes(), before - 4 * kMiB);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(CALL(cuGraphExecDestroy)(executable), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(free_bytes(), before - 4 * kMiB);
  EXPECT_EQ(CALL(cuDeviceGraphMemTrim)(0), CUDA_SUCCESS);

  EXPECT_EQ(free_bytes(), before);
  EXPECT_GE(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 4 * kMiB);
  cuuint64_t none = 0;
  EXPECT_EQ(CALL(cuDeviceSetGraphMemAttribute)(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &none),
            CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 0u);
  none = 1;
  EXPECT_EQ(CALL(cuDeviceSetGraphMemAttribute)(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &none),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverGraphMemory, OutlivesTheContextOfItsLaunch) {
  CUgraphNode node = nullptr, last = nullptr;
  CUcontext own = nullptr;
  const CUdeviceptr pointer = add_allocation(64, &node);
  ASSERT_EQ(CALL(cuGraphAddMemFreeNode)(&last, graph_, &node, 1, pointer), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuCtxCreate_v2)(&own, 0, 0), CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph_);
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 2 * kMiB);

  EXPECT_EQ(CALL(cuCtxDestroy_v2)(own), CUDA_SUCCESS);

  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 2 * kMiB);
  EXPECT_EQ(CALL(cuGraphExecDestroy)(executable), CUDA_SUCCESS);
}

TEST_F(DriverGraphMemory, LeftBehindByALaunchIsFreedOutside) {
  CUgraphNode node = nullptr, set = nullptr;
  const CUdeviceptr pointer = add_allocation(64, &node);
  CUDA_MEMSET_NODE_PARAMS told = {pointer, 0, 6, 1, 64, 1};
  ASSERT_EQ(CALL(cuGraphAddMemsetNode)(&set, graph_, &node, 1, &told, nullptr), CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph_);
  unsigned char back = 0;

  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&back, pointer, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&back, pointer, 1), CUDA_SUCCESS);
  EXPECT_EQ(back, 6);
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphExecDestroy)(executable), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&back, pointer, 1), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverGraphMemory, AutoFreeGivesBackWhatTheLastLaunchLeft) {
  CUgraphNode node = nullptr;
  const CUdeviceptr pointer = add_allocation(64, &node);
  const CUgraphExec executable =
      instantiate(graph_, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);

  EXPECT_EQ(CALL(cuGraphLaunch)(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, nullptr), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_SUCCESS);
}

// Programming guide 4.3.5.3.
TEST_F(DriverGraphMemory, AMemsetNodeTakesNoMemoryOfAPool) {
  CUdeviceptr pointer = 0;
  CUgraphNode set = nullptr;
  CALL(cuMemAllocAsync)(&pointer, 64, nullptr);
  const CUDA_MEMSET_NODE_PARAMS told = {pointer, 0, 6, 1, 64, 1};

  EXPECT_EQ(CALL(cuGraphAddMemsetNode)(&set, graph_, nullptr, 0, &told, nullptr),
            CUDA_ERROR_INVALID_VALUE);

  CALL(cuMemFreeAsync)(pointer, nullptr);
}

// Programming guide 16.4.2: graphs launched into one stream have the same physical memory.
TEST_F(DriverGraphMemory, IsSharedByGraphsOfOneStreamButWhatALaunchLeft) {
  CUgraphNode node = nullptr, last = nullptr;
  const CUstream one = stream(), another = stream();
  CUgraphExec shares[2] = {};
  for (CUgraphExec& executable : shares) {
    CUgraph graph = nullptr;
    CALL(cuGraphCreate)(&graph, 0);
    std::swap(graph, graph_);
    const CUdeviceptr pointer = add_allocation(4 * kMiB, &node);
    ASSERT_EQ(CALL(cuGraphAddMemFreeNode)(&last, graph_, &node, 1, pointer), CUDA_SUCCESS);
    executable = instantiate(graph_);
    std::swap(graph, graph_);
    CALL(cuGraphDestroy)(graph);
  }
  const CUdeviceptr left = add_allocation(2 * kMiB, &node);
  const CUgraphExec leaver = instantiate(graph_);

  for (const CUgraphExec executable : shares) CALL(cuGraphLaunch)(executable, one);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 4 * kMiB);
  CALL(cuGraphLaunch)(leaver, one);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 4 * kMiB);
  CALL(cuGraphLaunch)(shares[0], one);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 6 * kMiB);
  CALL(cuGraphLaunch)(shares[1], another);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 10 * kMiB);
  EXPECT_EQ(CALL(cuMemFreeAsync)(left, one), CUDA_SUCCESS);
  CALL(cuCtxSynchronize)();
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 10 * kMiB);
  CALL(cuDeviceGraphMemTrim)(0);

  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  CALL(cuGraphExecDestroy)(leaver);
  for (const CUgraphExec executable : shares) CALL(cuGraphExecDestroy)(executable);
}

// hip-tests graph/hipGraphAddMemAllocNode.cc:178, hipGraphAddMemFreeNode.cc:138: 801.
TEST_F(DriverGraphMemory, OneExecutableNoCloneNoCuts) {
  CUgraphNode node = nullptr, last = nullptr;
  CUgraph clone = nullptr, parent = nullptr;
  CUgraphExec second = nullptr;
  const CUdeviceptr pointer = add_allocation(64, &node);
  ASSERT_EQ(CALL(cuGraphAddMemFreeNode)(&last, graph_, &node, 1, pointer), CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph_);
  CALL(cuGraphCreate)(&parent, 0);

  EXPECT_EQ(CALL(cuGraphAddMemFreeNode)(&last, graph_, &node, 1, pointer),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&second, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CALL(cuGraphClone)(&clone, graph_), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CALL(cuGraphDestroyNode)(node), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CALL(cuGraphAddChildGraphNode)(&node, parent, nullptr, 0, graph_),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CALL(cuGraphExecDestroy)(executable), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&second, graph_, 0), CUDA_SUCCESS);
  CALL(cuGraphExecDestroy)(second);
  CALL(cuGraphDestroy)(parent);
}

TEST_F(DriverGraphMemory, TellsItsParameters) {
  CUgraphNode node = nullptr, last = nullptr;
  const CUdeviceptr pointer = add_allocation(1000, &node);
  CALL(cuGraphAddMemFreeNode)(&last, graph_, &node, 1, pointer);
  CUDA_MEM_ALLOC_NODE_PARAMS told = {};
  CUdeviceptr freed = 0;

  EXPECT_EQ(CALL(cuGraphMemAllocNodeGetParams)(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphMemFreeNodeGetParams)(last, &freed), CUDA_SUCCESS);

  EXPECT_EQ(told.bytesize, 1000u);
  EXPECT_EQ(told.dptr, pointer);
  EXPECT_EQ(freed, pointer);
}

TEST_F(DriverGraphMemory, ACaptureOwnsItsStreamOrderedMemory) {
  const CUstream work = stream();
  CUgraph captured = nullptr;
  CUdeviceptr pointer = 0;
  unsigned char back = 0;
  void* pinned = pin(1);
  CUgraphNode nodes[4] = {};
  std::size_t count = 4;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;

  ASSERT_EQ(CALL(cuStreamBeginCapture_v2)(work, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAllocAsync)(&pointer, 64, work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemsetD8Async)(pointer, 8, 64, work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyDtoHAsync_v2)(pinned, pointer, 1, work), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, work), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuStreamEndCapture)(work, &captured), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphGetNodes)(captured, nodes, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(CALL(cuGraphNodeGetType)(nodes[3], &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  const CUgraphExec executable = instantiate(captured);
  for (int i = 0; i < 2; ++i) {
    *static_cast<unsigned char*>(pinned) = 0;
    EXPECT_EQ(CALL(cuGraphLaunch)(executable, work), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuStreamSynchronize)(work), CUDA_SUCCESS);
    back = *static_cast<unsigned char*>(pinned);
  }

  EXPECT_EQ(back, 8);
  CALL(cuGraphExecDestroy)(executable);
  CALL(cuGraphDestroy)(captured);
}

TEST_F(DriverGraphMemory, ACaptureFreesNoOtherMemory) {
  const CUstream work = stream();
  CUdeviceptr outside = 0;
  CUgraph captured = nullptr;
  CALL(cuMemAllocAsync)(&outside, 64, work);

  ASSERT_EQ(CALL(cuStreamBeginCapture_v2)(work, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFreeAsync)(outside, work), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuStreamEndCapture)(work, &captured), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemFreeAsync)(outside, work), CUDA_SUCCESS);
  CALL(cuGraphDestroy)(captured);
}

TEST_F(DriverGraphMemory, AnotherGraphMayFreeIt) {
  CUgraphNode node = nullptr, last = nullptr;
  CUgraph other = nullptr;
  const CUdeviceptr pointer = add_allocation(64, &node);
  CALL(cuGraphCreate)(&other, 0);
  EXPECT_EQ(CALL(cuGraphAddMemFreeNode)(&last, other, nullptr, 0, pointer), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphAddMemFreeNode)(&last, graph_, &node, 1, pointer),
            CUDA_ERROR_INVALID_VALUE);
  const CUgraphExec maker = instantiate(graph_), ender = instantiate(other);

  EXPECT_EQ(CALL(cuGraphLaunch)(ender, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphLaunch)(maker, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphLaunch)(ender, nullptr), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
  CALL(cuGraphExecDestroy)(maker);
  CALL(cuGraphExecDestroy)(ender);
  CALL(cuGraphDestroy)(other);
}

TEST_F(DriverGraphMemory, NodesOfSeveralGraphsMayAskForMoreThanTheDeviceHas) {
  CUgraphNode node = nullptr;
  const std::size_t most = free_bytes() / 4 * 3;

  EXPECT_NE(add_allocation(most, &node), add_allocation(most, &node));
}

TEST_F(DriverGraphMemory, ADeviceThatIsFullFailsTheLaunch) {
  CUgraphNode node = nullptr;
  std::size_t free = free_bytes();
  (void)add_allocation(4 * kMiB, &node);
  const CUgraphExec executable = instantiate(graph_);
  const CUdeviceptr rest = allocate(free - 2 * kMiB);

  EXPECT_EQ(CALL(cuGraphLaunch)(executable, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CALL(cuMemFree_v2)(rest), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphUpload)(executable, nullptr), CUDA_SUCCESS);

  EXPECT_EQ(free_bytes(), free - 4 * kMiB);
  CALL(cuGraphExecDestroy)(executable);
  EXPECT_EQ(free_bytes(), free - 4 * kMiB);
}

}  // namespace
}  // namespace vramscope::simulator
