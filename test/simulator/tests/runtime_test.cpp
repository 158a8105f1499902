// The small runtime, linked statically, over the driver that the loader finds.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

namespace {

TEST(Runtime, ServesZeroBytesWithoutTheDriver) {
  void* pointer = &pointer;

  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
}

TEST(Runtime, MovesBytesThroughTheDevice) {
  char back[8] = {};
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 100), cudaSuccess);

  EXPECT_EQ(cudaMemcpy(device, "through", 8, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(back, device, 8, cudaMemcpyDeviceToHost), cudaSuccess);

  EXPECT_STREQ(back, "through");
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(Runtime, KeepsTheLastErrorUntilAsked) {
  int local = 0;

  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(nullptr, 0), cudaErrorInvalidValue);

  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

TEST(Runtime, DescribesPointersOfEachKind) {
  cudaPointerAttributes attributes;
  void *device = nullptr, *pinned = nullptr, *managed = nullptr;
  cudaMalloc(&device, 100);
  cudaMallocHost(&pinned, 100);
  cudaMallocManaged(&managed, 100, cudaMemAttachGlobal);

  cudaPointerGetAttributes(&attributes, device);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  cudaPointerGetAttributes(&attributes, pinned);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  cudaPointerGetAttributes(&attributes, managed);
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, &attributes), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);

  cudaFree(device);
  cudaFreeHost(pinned);
  cudaFree(managed);
}

TEST(Runtime, StartsAgainAfterAReset) {
  void* device = nullptr;
  cudaMalloc(&device, 100);

  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);

  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(&device, 100), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  (void)cudaGetLastError();
}

TEST(Runtime, FindsDriverFunctions) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;

  EXPECT_EQ(
      cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &status),
      cudaSuccess);

  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_NE(function, nullptr);
}

TEST(Runtime, SpeaksOfErrorsByItsOwnNames) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidMemcpyDirection),
               "cudaErrorInvalidMemcpyDirection");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidMemcpyDirection),
               "invalid copy direction for memcpy");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(5000)), "unrecognized error code");
}

TEST(Runtime, PrefetchesAndAdvisesTheBytesThatWereNamed) {
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 8192, cudaMemAttachGlobal), cudaSuccess);
  const cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
  const cudaMemLocation host = {cudaMemLocationTypeHost, 0};

  EXPECT_EQ(cudaMemPrefetchAsync(managed, 8192, device, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 4096, host, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 16384, device, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemAdvise(managed, 8192, cudaMemAdviseSetPreferredLocation, host), cudaSuccess);
  EXPECT_EQ(cudaMemAdvise(managed, 16384, cudaMemAdviseSetPreferredLocation, host),
            cudaErrorInvalidValue);

  cudaFree(managed);
  (void)cudaGetLastError();
}

TEST(Runtime, SaysWhereManagedMemoryWasPrefetched) {
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 8192, cudaMemAttachGlobal), cudaSuccess);
  int last = 0, mostly = -1;
  void* values[] = {&last, &mostly};
  std::size_t sizes[] = {sizeof last, sizeof mostly};
  cudaMemRangeAttribute names[] = {cudaMemRangeAttributeLastPrefetchLocation,
                                   cudaMemRangeAttributeReadMostly};

  EXPECT_EQ(cudaMemRangeGetAttribute(&last, sizeof last, names[0], managed, 8192), cudaSuccess);
  EXPECT_EQ(last, cudaInvalidDeviceId);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 8192, {cudaMemLocationTypeDevice, 0}, 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaMemRangeGetAttributes(values, sizes, names, 2, managed, 8192), cudaSuccess);
  EXPECT_EQ(last, 0);
  EXPECT_EQ(mostly, 0);

  cudaFree(managed);
}

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*,
                                       dim3*, dim3*, int*);

extern "C" void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, std::size_t, int,
                                         int);
extern "C" void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int);
extern "C" char __cudaInitModule(void**);
extern "C" void** __cudaRegisterFatBinary(void*);
extern "C" void __cudaUnregisterFatBinary(void**);

// As nvcc's code does before it first touches one.
TEST(Runtime, MakesManagedVariables) {
  static void* variable = nullptr;
  void* address = nullptr;
  std::size_t bytes = 0;
  cudaPointerAttributes attributes = {};
  const int nine = 9;
  __cudaRegisterManagedVar(nullptr, &variable, nullptr, "variable", 0, 16, 0, 0);

  ASSERT_NE(__cudaInitModule(nullptr), 0);
  ASSERT_NE(variable, nullptr);
  void* const made = variable;
  EXPECT_NE(__cudaInitModule(nullptr), 0);

  EXPECT_EQ(variable, made);
  EXPECT_EQ(static_cast<int*>(variable)[3], 0);
  EXPECT_EQ(cudaMemcpyToSymbol(variable, &nine, sizeof nine, 0, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(static_cast<int*>(variable)[0], nine);
  EXPECT_EQ(cudaGetSymbolAddress(&address, variable), cudaSuccess);
  EXPECT_EQ(address, variable);
  EXPECT_EQ(cudaGetSymbolSize(&bytes, variable), cudaSuccess);
  EXPECT_EQ(bytes, 16u);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, variable), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
}

// The module has it, as code of nvcc announces it: it is no allocation of the program.
TEST(Runtime, TakesTheMemoryOfAVariableFromTheDeviceWhenItIsFirstUsed) {
  constexpr std::size_t kBytes = 64 << 20;
  static char variable = 0;
  static int image = 0;
  std::size_t before = 0, after = 0, total = 0;
  char nine = 9, back = 0;
  void* address = nullptr;
  void** const binary = __cudaRegisterFatBinary(&image);
  __cudaRegisterVar(binary, &variable, nullptr, "_ZN5model7weightsE", 0, kBytes, 0, 0);

  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(&variable, &nine, 1, kBytes - 1, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before - kBytes, after);
  EXPECT_EQ(cudaMemcpyFromSymbol(&back, &variable, 1, kBytes - 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(back, nine);
  ASSERT_EQ(cudaGetSymbolAddress(&address, &variable), cudaSuccess);
  EXPECT_EQ(cudaFree(address), cudaErrorInvalidValue);
  __cudaUnregisterFatBinary(binary);
}

// What nvcc writes around code for an architecture: of kind 1 PTX, of kind 2 machine code.
struct CodeEntry {
  std::uint16_t kind;
  std::uint32_t architecture;
};

// The version of PTX and of machine code that a kernel with this code has on compute
// capability 9.0.
std::pair<int, int> versions_with(std::initializer_list<CodeEntry> entries) {
  constexpr std::uint32_t kHeader = 64, kCode = 8;
  std::vector<std::uint32_t> binary = {0xba55ed50, 0x100001, 0, 0};
  for (const CodeEntry& entry : entries) {
    const std::size_t at = binary.size();
    binary.resize(at + (kHeader + kCode) / sizeof(std::uint32_t));
    binary[at] = 0x1010000 | entry.kind;
    binary[at + 1] = kHeader;
    binary[at + 2] = kCode;
    binary[at + 7] = entry.architecture;
  }
  binary[2] = static_cast<std::uint32_t>((binary.size() - 4) * sizeof(std::uint32_t));
  struct {
    std::uint32_t magic, version;
    const void* binary;
  } wrapper = {0x466243b1, 1, binary.data()};
  static char kernel = 0;
  char name[] = "kernel";
  void** const registered = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(registered, &kernel, name, name, -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  cudaFuncAttributes attributes = {};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &kernel), cudaSuccess);
  __cudaUnregisterFatBinary(registered);
  return {attributes.ptxVersion, attributes.binaryVersion};
}

// CUB refuses a version for which it was not compiled.
TEST(Runtime, KernelsHaveTheVersionOfTheCodeThatTheDeviceWouldRun) {
  EXPECT_EQ(versions_with({{2, 80}, {2, 90}, {2, 100}}), std::pair(90, 90));
  EXPECT_EQ(versions_with({{2, 80}, {2, 86}, {1, 75}, {1, 80}}), std::pair(80, 90));
  EXPECT_EQ(versions_with({{1, 90}, {2, 90}}), std::pair(90, 90));
  EXPECT_EQ(versions_with({{2, 86}}), std::pair(90, 90));  // none: launches are accepted anyway
}

TEST(Runtime, LeavesVariablesOfAnUnloadedLibraryAlone) {
  static void* variable = nullptr;
  static int image = 0;
  void** const binary = __cudaRegisterFatBinary(&image);
  __cudaRegisterManagedVar(binary, &variable, nullptr, "variable", 0, 16, 0, 0);
  __cudaUnregisterFatBinary(binary);

  EXPECT_NE(__cudaInitModule(nullptr), 0);

  EXPECT_EQ(variable, nullptr);
}

TEST(Runtime, DescribesAKernel) {
  static const char kernel = 0;  // its address is what a program launches
  __cudaRegisterFunction(nullptr, &kernel, nullptr, "kernel", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  cudaFuncAttributes attributes = {};

  ASSERT_EQ(cudaFuncGetAttributes(&attributes, &kernel), cudaSuccess);

  EXPECT_EQ(attributes.ptxVersion, 90);
  EXPECT_EQ(attributes.binaryVersion, 90);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_EQ(attributes.numRegs, 32);
}

TEST(Runtime, DescribesTheDevice) {
  cudaDeviceProp properties = {};

  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);

  EXPECT_STREQ(properties.name, "Vramscope simulated device");
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.sharedMemPerBlock, 49152u);
  EXPECT_EQ(properties.maxGridSize[0], 2147483647);
  EXPECT_EQ(properties.memoryPoolSupportedHandleTypes,
            unsigned{cudaMemHandleTypePosixFileDescriptor});
  EXPECT_EQ(properties.ipcEventSupported, 1);
}

TEST(Runtime, UpdatesAnExecutableGraph) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  void* device = nullptr;
  cudaMalloc(&device, 64);
  cudaStreamCreate(&stream);
  const auto capture = [&](int sets) {
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    for (int i = 0; i < sets; ++i) cudaMemsetAsync(device, i, 64, stream);
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  };
  cudaGraphExecUpdateResultInfo info = {};

  capture(1);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphExecUpdate(executable, graph, &info), cudaSuccess);
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  capture(2);
  EXPECT_EQ(cudaGraphExecUpdate(executable, graph, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);

  cudaStreamDestroy(stream);
  cudaFree(device);
  (void)cudaGetLastError();
}

TEST(Runtime, CopiesBoxesBetweenDevices) {
  void *from = nullptr, *to = nullptr;
  char back[8] = {};
  cudaMalloc(&from, 64);
  cudaMalloc(&to, 64);
  cudaMemcpy(from, "through", 8, cudaMemcpyHostToDevice);
  cudaMemcpy3DPeerParms parameters = {};
  parameters.srcPtr = {from, 64, 8, 1};
  parameters.dstPtr = {to, 64, 8, 1};
  parameters.extent = {8, 1, 1};

  EXPECT_EQ(cudaMemcpy3DPeerAsync(&parameters, nullptr), cudaSuccess);
  cudaMemcpy(back, to, 8, cudaMemcpyDeviceToHost);

  EXPECT_STREQ(back, "through");
  cudaFree(from);
  cudaFree(to);
}

TEST(Runtime, RefusesWhatItDoesNotModel) {
  EXPECT_EQ(cudaGraphDebugDotPrint(nullptr, nullptr, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

}  // namespace
