// Explicit graphs through the driver face: nodes, order, copies, launches, updates.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

class DriverGraphs : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(CALL(cuGraphCreate)(&graph_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    CALL(cuGraphDestroy)(graph_);
    DriverTest::TearDown();
  }

  CUgraphNode fill(CUdeviceptr to, unsigned value, std::vector<CUgraphNode> after = {}) {
    CUDA_MEMSET_NODE_PARAMS told = {to, 0, value, 1, 64, 1};
    CUgraphNode node = nullptr;
    EXPECT_EQ(CALL(cuGraphAddMemsetNode)(&node, graph_, after.data(), after.size(), &told, nullptr),
              CUDA_SUCCESS);
    return node;
  }

  CUgraphNode empty(std::vector<CUgraphNode> after = {}) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(CALL(cuGraphAddEmptyNode)(&node, graph_, after.data(), after.size()), CUDA_SUCCESS);
    return node;
  }

  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec executable = nullptr;
    EXPECT_EQ(CALL(cuGraphInstantiateWithFlags)(&executable, graph, 0), CUDA_SUCCESS);
    return executable;
  }

  void launch(CUgraphExec executable) {
    const CUstream work = stream();
    EXPECT_EQ(CALL(cuGraphLaunch)(executable, work), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuStreamSynchronize)(work), CUDA_SUCCESS);
  }

  unsigned byte_at(CUdeviceptr pointer) {
    unsigned char back = 0;
    EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&back, pointer, 1), CUDA_SUCCESS);
    return back;
  }

  CUgraph graph_ = nullptr;
};

TEST_F(DriverGraphs, RunsNodesInTheOrderOfTheirDependencies) {
  const CUdeviceptr device = allocate(128);
  const CUgraphNode last = fill(device, 3);
  const CUgraphNode first = fill(device, 7);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = device;
  copy.dstDevice = device + 64;
  copy.WidthInBytes = 64;
  copy.Height = copy.Depth = 1;
  CUgraphNode middle = nullptr;
  ASSERT_EQ(CALL(cuGraphAddMemcpyNode)(&middle, graph_, &first, 1, &copy, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuGraphAddDependencies_v2)(graph_, &middle, &last, nullptr, 1), CUDA_SUCCESS);

  launch(instantiate(graph_));

  EXPECT_EQ(byte_at(device), 3u);
  EXPECT_EQ(byte_at(device + 64), 7u);
}

TEST_F(DriverGraphs, ListsNodesEdgesAndRoots) {
  const CUgraphNode root = empty();
  const CUgraphNode left = empty({root});
  const CUgraphNode right = empty({root, left});
  CUgraphNode from[4] = {}, to[4] = {};
  std::size_t nodes = 0, roots = 1, edges = 4, dependencies = 2, dependents = 0;

  EXPECT_EQ(CALL(cuGraphGetNodes)(graph_, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphGetEdges_v2)(graph_, from, to, nullptr, &edges), CUDA_SUCCESS);
  EXPECT_EQ(edges, 3u);
  EXPECT_EQ(to[2], right);
  EXPECT_EQ(from[3], nullptr);
  EXPECT_EQ(CALL(cuGraphGetRootNodes)(graph_, from, &roots), CUDA_SUCCESS);
  EXPECT_EQ(from[0], root);
  EXPECT_EQ(CALL(cuGraphNodeGetDependencies_v2)(right, from, nullptr, &dependencies), CUDA_SUCCESS);
  EXPECT_EQ(from[1], left);
  EXPECT_EQ(CALL(cuGraphNodeGetDependentNodes)(root, nullptr, &dependents), CUDA_SUCCESS);

  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(roots, 1u);
  EXPECT_EQ(dependents, 2u);
}

TEST_F(DriverGraphs, KeepsWhatEdgesBetweenKernelsCarry) {
  CUmodule module = nullptr;
  CUgraphNodeParams kernel = {};
  kernel.type = CU_GRAPH_NODE_TYPE_KERNEL;
  ASSERT_EQ(CALL(cuModuleLoadData)(&module, ".version 8.0"), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuModuleGetFunction)(&kernel.kernel.func, module, "step"), CUDA_SUCCESS);
  kernel.kernel.gridDimX = kernel.kernel.gridDimY = kernel.kernel.gridDimZ = 1;
  kernel.kernel.blockDimX = kernel.kernel.blockDimY = kernel.kernel.blockDimZ = 1;
  CUgraphEdgeData early = {}, told = {};
  early.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  early.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  CUgraphNode first = nullptr, second = nullptr, from = nullptr, to = nullptr;
  std::size_t count = 1;
  ASSERT_EQ(CALL(cuGraphAddNode_v2)(&first, graph_, nullptr, nullptr, 0, &kernel), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuGraphAddNode_v2)(&second, graph_, &first, &early, 1, &kernel), CUDA_SUCCESS);
  CUgraph clone = nullptr;
  ASSERT_EQ(CALL(cuGraphClone)(&clone, graph_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphGetEdges_v2)(clone, &from, &to, &told, &count), CUDA_SUCCESS);
  EXPECT_EQ(told.from_port, early.from_port);
  EXPECT_EQ(CALL(cuGraphGetEdges)(graph_, &from, &to, &count), CUDA_ERROR_LOSSY_QUERY);
  EXPECT_EQ(CALL(cuGraphNodeGetDependencies_v2)(second, &from, &told, &count), CUDA_SUCCESS);
  EXPECT_EQ(told.type, early.type);
  const CUgraphNode plain = empty({second});
  EXPECT_EQ(CALL(cuGraphAddDependencies_v2)(graph_, &first, &plain, &early, 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphRemoveDependencies_v2)(graph_, &first, &second, &early, 1), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphAddDependencies)(graph_, &first, &second, 1), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphGetEdges)(graph_, &from, &to, &count), CUDA_SUCCESS);
  launch(instantiate(clone));
  CALL(cuGraphDestroy)(clone);
}

TEST_F(DriverGraphs, RefusesCyclesForeignNodesAndDuplicates) {
  const CUgraphNode one = empty();
  const CUgraphNode two = empty({one});
  const CUgraphNode twice[] = {one, one};
  CUgraph other = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {};
  CALL(cuGraphCreate)(&other, 0);

  EXPECT_EQ(CALL(cuGraphAddEmptyNode)(&node, other, &one, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphAddEmptyNode)(&node, graph_, twice, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphAddDependencies)(graph_, &one, &two, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphAddDependencies)(graph_, &two, &one, 1), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphInstantiateWithParams)(&executable, graph_, &parameters),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(parameters.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_EQ(CALL(cuGraphDestroyNode)(two), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphDestroyNode)(two), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphInstantiate_v2)(&executable, graph_, nullptr, nullptr, 0), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuGraphDestroy)(other), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphDestroy)(other), CUDA_ERROR_INVALID_VALUE);
}

// An H200's answer: the launch is accepted.
TEST_F(DriverGraphs, AnExecutableOutlivesTheContextInWhichItWasMade) {
  const CUdeviceptr device = allocate(64);
  CUcontext other = nullptr;
  CUDA_MEMSET_NODE_PARAMS told = {device, 0, 5, 1, 64, 1};
  CUgraphNode node = nullptr;
  CALL(cuGraphAddMemsetNode)(&node, graph_, nullptr, 0, &told, context_);
  ASSERT_EQ(CALL(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph_);
  ASSERT_EQ(CALL(cuCtxDestroy_v2)(other), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuCtxSetCurrent)(context_), CUDA_SUCCESS);

  launch(executable);

  EXPECT_EQ(byte_at(device), 5u);
  EXPECT_EQ(CALL(cuGraphExecDestroy)(executable), CUDA_SUCCESS);
}

TEST_F(DriverGraphs, AnExecutableKeepsItsParametersUntilTheyAreSet) {
  const CUdeviceptr device = allocate(64);
  const CUgraphNode node = fill(device, 1);
  const CUgraphExec executable = instantiate(graph_);
  CUDA_MEMSET_NODE_PARAMS told = {device, 0, 2, 1, 64, 1};

  EXPECT_EQ(CALL(cuGraphMemsetNodeSetParams)(node, &told), CUDA_SUCCESS);
  launch(executable);
  EXPECT_EQ(byte_at(device), 1u);
  EXPECT_EQ(CALL(cuGraphExecMemsetNodeSetParams)(executable, node, &told, context_), CUDA_SUCCESS);
  launch(executable);
  EXPECT_EQ(byte_at(device), 2u);

  told = {};
  EXPECT_EQ(CALL(cuGraphMemsetNodeGetParams)(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.value, 2u);
  EXPECT_EQ(CALL(cuGraphNodeSetEnabled)(executable, node, 0), CUDA_SUCCESS);
  CALL(cuMemsetD8_v2)(device, 9, 64);
  launch(executable);
  EXPECT_EQ(byte_at(device), 9u);
}

TEST_F(DriverGraphs, UpdatesFromAGraphOfTheSameShapeOnly) {
  const CUdeviceptr device = allocate(64);
  fill(device, 1);
  const CUgraphExec executable = instantiate(graph_);
  CUgraphExecUpdateResultInfo info = {};
  CUgraph same = nullptr;
  CUgraphNode node = nullptr;
  CUDA_MEMSET_NODE_PARAMS told = {device, 0, 5, 1, 64, 1};
  CALL(cuGraphCreate)(&same, 0);
  CALL(cuGraphAddMemsetNode)(&node, same, nullptr, 0, &told, nullptr);

  EXPECT_EQ(CALL(cuGraphExecUpdate_v2)(executable, same, &info), CUDA_SUCCESS);
  launch(executable);
  EXPECT_EQ(byte_at(device), 5u);
  CALL(cuGraphAddEmptyNode)(&node, same, nullptr, 0);
  EXPECT_EQ(CALL(cuGraphExecUpdate_v2)(executable, same, &info),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);

  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  CALL(cuGraphDestroy)(same);
}

TEST_F(DriverGraphs, AnExecutablesChildTakesWhatAnotherGraphDoes) {
  const CUdeviceptr device = allocate(64);
  CUgraph parent = nullptr, other = nullptr;
  CUgraphNode child = nullptr, node = nullptr;
  CUDA_MEMSET_NODE_PARAMS told = {device, 0, 9, 1, 64, 1};
  fill(device, 1);
  ASSERT_EQ(CALL(cuGraphCreate)(&parent, 0), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuGraphCreate)(&other, 0), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuGraphAddChildGraphNode)(&child, parent, nullptr, 0, graph_), CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(parent);

  EXPECT_EQ(CALL(cuGraphExecChildGraphNodeSetParams)(executable, child, other),
            CUDA_ERROR_INVALID_VALUE);
  CALL(cuGraphAddMemsetNode)(&node, other, nullptr, 0, &told, nullptr);
  EXPECT_EQ(CALL(cuGraphExecChildGraphNodeSetParams)(executable, node, other),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphExecChildGraphNodeSetParams)(executable, child, other), CUDA_SUCCESS);
  launch(executable);

  EXPECT_EQ(byte_at(device), 9u);
  CALL(cuGraphDestroy)(parent);
  CALL(cuGraphDestroy)(other);
}

TEST_F(DriverGraphs, ClonesWithItsChildren) {
  const CUdeviceptr device = allocate(64);
  CUgraph parent = nullptr, inner = nullptr, clone = nullptr;
  CUgraphNode child = nullptr, twin = nullptr;
  fill(device, 4);
  CALL(cuGraphCreate)(&parent, 0);

  EXPECT_EQ(CALL(cuGraphAddChildGraphNode)(&child, parent, nullptr, 0, graph_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphChildGraphNodeGetGraph)(child, &inner), CUDA_SUCCESS);
  EXPECT_NE(inner, graph_);
  EXPECT_EQ(CALL(cuGraphDestroy)(inner), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphClone)(&clone, parent), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphNodeFindInClone)(&twin, child, clone), CUDA_SUCCESS);
  EXPECT_NE(twin, child);
  CALL(cuGraphDestroy)(parent);
  launch(instantiate(clone));

  EXPECT_EQ(byte_at(device), 4u);
  CALL(cuGraphDestroy)(clone);
}

TEST_F(DriverGraphs, CountsKernelsWhenTheyAreLaunched) {
  const auto launches = entry<std::uint64_t (*)()>("vramscope_simulated_launches");
  CUmodule module = nullptr;
  CUDA_KERNEL_NODE_PARAMS_v1 kernel = {nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr};
  CUgraphNode node = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CALL(cuModuleLoadData)(&module, "code");
  CALL(cuModuleGetFunction)(&kernel.func, module, "kernel");

  EXPECT_EQ(CALL(cuGraphAddKernelNode)(&node, graph_, nullptr, 0, &kernel), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphNodeGetType)(node, &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  const CUgraphExec executable = instantiate(graph_);
  const std::uint64_t before = launches();
  launch(executable);
  launch(executable);

  EXPECT_EQ(launches(), before + 2);
}

TEST_F(DriverGraphs, RecordsEventsAndCallsTheHost) {
  CUevent event = nullptr;
  CUgraphNode node = nullptr, host = nullptr;
  int calls = 0;
  CUDA_HOST_NODE_PARAMS told = {[](void* count) { ++*static_cast<int*>(count); }, &calls};
  CALL(cuEventCreate)(&event, 0);

  EXPECT_EQ(CALL(cuGraphAddHostNode)(&host, graph_, nullptr, 0, &told), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphAddEventRecordNode)(&node, graph_, &host, 1, event), CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph_);
  EXPECT_EQ(CALL(cuGraphLaunch)(executable, stream()), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuEventSynchronize)(event), CUDA_SUCCESS);

  EXPECT_EQ(calls, 1);
}

TEST_F(DriverGraphs, KeepUserObjectsAlive) {
  int ends = 0;
  CUuserObject object = nullptr;
  const CUhostFn end = [](void* count) { ++*static_cast<int*>(count); };

  ASSERT_EQ(CALL(cuUserObjectCreate)(&object, &ends, end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
            CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuGraphRetainUserObject)(graph_, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
            CUDA_SUCCESS);
  const CUgraphExec executable = instantiate(graph_);
  EXPECT_EQ(CALL(cuGraphReleaseUserObject)(graph_, object, 1), CUDA_SUCCESS);
  EXPECT_EQ(ends, 0);
  EXPECT_EQ(CALL(cuGraphExecDestroy)(executable), CUDA_SUCCESS);

  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace vramscope::simulator
