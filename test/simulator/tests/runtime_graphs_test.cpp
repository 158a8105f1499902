// The small runtime's graphs that a program builds node by node: what they do, and their memory.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*,
                                       dim3*, dim3*, int*);

namespace {

class RuntimeGraphs : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess); }
  void TearDown() override {
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    (void)cudaGetLastError();
  }
  // Launches the graph once and waits for it.
  void run() {
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphUpload(executable, nullptr), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(executable, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  }
  [[nodiscard]] static unsigned long long reserved() {
    unsigned long long bytes = 0;
    EXPECT_EQ(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &bytes),
              cudaSuccess);
    return bytes;
  }

  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t node_ = nullptr;
};

TEST_F(RuntimeGraphs, SetAndCopyBytesAndCallTheHost) {
  std::array<unsigned char, 4> back = {};
  void* memory = nullptr;
  bool was_called = false;
  ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
  cudaMemsetParams set = {memory, 0, 7, 1, 64, 1};
  const cudaHostNodeParams call = {[](void* flag) { *static_cast<bool*>(flag) = true; },
                                   &was_called};
  cudaGraphNode_t copy = nullptr, last = nullptr, empty = nullptr;

  EXPECT_EQ(cudaGraphAddMemsetNode(&node_, graph_, nullptr, 0, &set), cudaSuccess);
  EXPECT_EQ(cudaGraphAddMemcpyNode1D(&copy, graph_, &node_, 1, back.data(), memory, back.size(),
                                     cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(cudaGraphAddHostNode(&last, graph_, &copy, 1, &call), cudaSuccess);
  EXPECT_EQ(cudaGraphAddEmptyNode(&empty, graph_, &last, 1), cudaSuccess);
  run();

  EXPECT_EQ(back, (std::array<unsigned char, 4>{7, 7, 7, 7}));
  EXPECT_TRUE(was_called);
  cudaFree(memory);
}

TEST_F(RuntimeGraphs, TellTheirNodes) {
  std::size_t all = 0, roots = 0;
  cudaGraphNode_t second = nullptr;
  cudaGraphNodeType type = cudaGraphNodeTypeKernel;
  cudaGraph_t clone = nullptr;

  EXPECT_EQ(cudaGraphAddEmptyNode(&node_, graph_, nullptr, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphClone(&clone, graph_), cudaSuccess);
  EXPECT_EQ(cudaGraphAddChildGraphNode(&second, graph_, &node_, 1, clone), cudaSuccess);
  EXPECT_EQ(cudaGraphGetNodes(graph_, nullptr, &all), cudaSuccess);
  EXPECT_EQ(cudaGraphGetRootNodes(graph_, nullptr, &roots), cudaSuccess);
  EXPECT_EQ(cudaGraphNodeGetType(second, &type), cudaSuccess);

  EXPECT_EQ(all, 2u);
  EXPECT_EQ(roots, 1u);
  EXPECT_EQ(type, cudaGraphNodeTypeGraph);
  EXPECT_EQ(cudaGraphDestroyNode(second), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(clone), cudaSuccess);
}

TEST_F(RuntimeGraphs, LaunchKernels) {
  static const char kernel = 0;  // its address is what a program launches
  __cudaRegisterFunction(nullptr, &kernel, nullptr, "kernel", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  cudaKernelNodeParams launch = {};
  launch.func = const_cast<char*>(&kernel);
  launch.gridDim = launch.blockDim = {1, 1, 1};

  EXPECT_EQ(cudaGraphAddKernelNode(&node_, graph_, nullptr, 0, &launch), cudaSuccess);
  run();
  launch.gridDim.x = 7;
  cudaKernelNodeParams told = {};
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node_, &launch), cudaSuccess);
  EXPECT_EQ(cudaGraphKernelNodeGetParams(node_, &told), cudaSuccess);
  EXPECT_EQ(told.func, launch.func);
  EXPECT_EQ(told.gridDim.x, 7u);
  launch.func = &launch;
  EXPECT_EQ(cudaGraphAddKernelNode(&node_, graph_, nullptr, 0, &launch),
            cudaErrorInvalidDeviceFunction);
}

TEST_F(RuntimeGraphs, RecordEventsAndKeepObjects) {
  cudaEvent_t event = nullptr, told = nullptr;
  cudaGraphNode_t wait = nullptr, found = nullptr;
  cudaGraph_t clone = nullptr;
  cudaUserObject_t object = nullptr;
  static bool is_gone;
  is_gone = false;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaUserObjectCreate(
                &object, &is_gone, [](void* flag) { *static_cast<bool*>(flag) = true; }, 1,
                cudaUserObjectNoDestructorSync),
            cudaSuccess);

  EXPECT_EQ(cudaGraphAddEventRecordNode(&node_, graph_, nullptr, 0, event), cudaSuccess);
  EXPECT_EQ(cudaGraphAddEventWaitNode(&wait, graph_, &node_, 1, event), cudaSuccess);
  EXPECT_EQ(cudaGraphEventWaitNodeGetEvent(wait, &told), cudaSuccess);
  EXPECT_EQ(told, event);
  EXPECT_EQ(cudaGraphClone(&clone, graph_), cudaSuccess);
  EXPECT_EQ(cudaGraphNodeFindInClone(&found, wait, clone), cudaSuccess);
  EXPECT_EQ(cudaGraphRetainUserObject(clone, object, 1, cudaGraphUserObjectMove), cudaSuccess);
  run();
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_FALSE(is_gone);
  EXPECT_EQ(cudaGraphDestroy(clone), cudaSuccess);
  EXPECT_TRUE(is_gone);
  cudaEventDestroy(event);
}

TEST_F(RuntimeGraphs, HaveMemoryThatStaysUntilATrim) {
  cudaMemAllocNodeParams wanted = {}, told = {};
  wanted.poolProps.allocType = cudaMemAllocationTypePinned;
  wanted.poolProps.location = {cudaMemLocationTypeDevice, 0};
  wanted.bytesize = 64 << 20;
  cudaGraphNode_t free = nullptr;
  void* freed = nullptr;

  ASSERT_EQ(cudaGraphAddMemAllocNode(&node_, graph_, nullptr, 0, &wanted), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemFreeNode(&free, graph_, &node_, 1, wanted.dptr), cudaSuccess);
  EXPECT_EQ(cudaGraphMemAllocNodeGetParams(node_, &told), cudaSuccess);
  EXPECT_EQ(cudaGraphMemFreeNodeGetParams(free, &freed), cudaSuccess);
  EXPECT_EQ(told.bytesize, wanted.bytesize);
  EXPECT_EQ(freed, wanted.dptr);
  run();

  EXPECT_GE(reserved(), wanted.bytesize);
  EXPECT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);
  EXPECT_EQ(reserved(), 0u);
}

TEST(RuntimeStreams, TellOfTheirCapture) {
  cudaStream_t stream = nullptr;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  unsigned long long id = 0;
  cudaGraph_t seen = nullptr, graph = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  std::size_t count = 0;
  void* memory = nullptr;
  cudaMalloc(&memory, 64);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);

  EXPECT_EQ(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr, nullptr),
            cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  cudaMemsetAsync(memory, 1, 64, stream);
  EXPECT_EQ(cudaStreamGetCaptureInfo(stream, &status, &id, &seen, &nodes, nullptr, &count),
            cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(count, 1u);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(graph, seen);

  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(memory);
}

TEST(RuntimeStreams, HaveNumbersDevicesAndAttributes) {
  cudaStream_t first = nullptr, second = nullptr;
  unsigned long long one = 0, other = 0;
  int device = -1;
  cudaStreamAttrValue policy = {}, told = {};
  policy.syncPolicy = cudaSyncPolicyYield;
  ASSERT_EQ(cudaStreamCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&second), cudaSuccess);

  EXPECT_EQ(cudaStreamGetId(first, &one), cudaSuccess);
  EXPECT_EQ(cudaStreamGetId(second, &other), cudaSuccess);
  EXPECT_NE(one, other);
  EXPECT_EQ(cudaStreamGetDevice(first, &device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaStreamSetAttribute(first, cudaStreamAttributeSynchronizationPolicy, &policy),
            cudaSuccess);
  EXPECT_EQ(cudaStreamCopyAttributes(second, first), cudaSuccess);
  EXPECT_EQ(cudaStreamGetAttribute(second, cudaStreamAttributeSynchronizationPolicy, &told),
            cudaSuccess);
  EXPECT_EQ(told.syncPolicy, cudaSyncPolicyYield);

  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

TEST(RuntimeLibraries, GiveKernelsThatCanBeLaunched) {
  const char* const code = ".version 8.0\n.target sm_90\n.visible .global .b8 table[64];\n";
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  cudaFunction_t function = nullptr;
  const char* name = nullptr;
  void* address = nullptr;
  std::size_t bytes = 0;

  ASSERT_EQ(cudaLibraryLoadData(&library, code, nullptr, nullptr, 0, nullptr, nullptr, 0),
            cudaSuccess);
  ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, "step"), cudaSuccess);
  EXPECT_EQ(cudaGetFuncBySymbol(&function, kernel), cudaSuccess);
  EXPECT_EQ(cudaFuncGetName(&name, kernel), cudaSuccess);
  EXPECT_STREQ(name, "step");
  EXPECT_EQ(
      cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024, 0),
      cudaSuccess);
  EXPECT_EQ(cudaLaunchKernel(kernel, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLibraryGetGlobal(&address, &bytes, library, "table"), cudaSuccess);
  EXPECT_EQ(bytes, 64u);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
  EXPECT_EQ(cudaGetFuncBySymbol(&function, kernel), cudaErrorInvalidDeviceFunction);
  (void)cudaGetLastError();
}

TEST(RuntimeStreams, TakeManagedMemory) {
  void* managed = nullptr;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 4096, cudaMemAttachHost), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);

  EXPECT_EQ(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachSingle), cudaSuccess);
  EXPECT_EQ(cudaStreamAttachMemAsync(stream, &managed, 0, cudaMemAttachSingle),
            cudaErrorInvalidValue);

  cudaStreamDestroy(stream);
  cudaFree(managed);
  (void)cudaGetLastError();
}

}  // namespace
