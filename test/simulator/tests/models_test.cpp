// The model that VRAMSCOPE_SIM chooses: driver, runtime and NVML say the same of it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/gpu_models.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "interpose/settings/private_variables.h"

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*,
                                       dim3*, dim3*, int*);

namespace vramscope::simulator {
namespace {

constexpr int kSuccess = 0, kNotSupported = 3;  // nvml.h

template <class... Parameters>
int call(const char* file, const char* symbol, Parameters... parameters) {
  void* const library = dlopen(file, RTLD_NOW);
  const auto function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, symbol));
  return function == nullptr ? -1 : function(parameters...);
}

template <class... Parameters>
int of_driver(const char* symbol, Parameters... parameters) {
  return call("libcuda.so.1", symbol, parameters...);
}

template <class... Parameters>
int of_nvml(const char* symbol, Parameters... parameters) {
  return call("libnvidia-ml.so.1", symbol, parameters...);
}

class Models : public testing::Test {
 protected:
  void SetUp() override {
    const std::string setting = std::getenv(kSimulatorVariable);
    const Model* const found = find_model(setting.substr(std::string_view("device=").size()));
    ASSERT_NE(found, nullptr) << setting;
    model = *found;
    ASSERT_EQ(of_driver("cuInit", 0U), CUDA_SUCCESS);
  }
  static int attribute(CUdevice_attribute which) {
    int value = -1;
    EXPECT_EQ(of_driver("cuDeviceGetAttribute", &value, which, 0), CUDA_SUCCESS);
    return value;
  }
  Model model;
};

TEST_F(Models, AreThoseThatTheToolNames) {
  std::string names;
  for (const Model& one : models()) names += (names.empty() ? "" : ", ") + std::string(one.key);

  EXPECT_EQ(names, kSimulatedModels);
}

TEST_F(Models, TheDriverTellsTheFiguresOfTheTable) {
  char name[96] = {};
  std::size_t bytes = 0;
  int major = 0, minor = 0;

  ASSERT_EQ(of_driver("cuDeviceGetName", name, 96, 0), CUDA_SUCCESS);
  ASSERT_EQ(of_driver("cuDeviceTotalMem_v2", &bytes, 0), CUDA_SUCCESS);
  ASSERT_EQ(of_driver("cuDeviceComputeCapability", &major, &minor, 0), CUDA_SUCCESS);

  EXPECT_EQ(name, model.title());
  EXPECT_TRUE(std::string(name).starts_with("Vramscope simulated ")) << name;
  EXPECT_EQ(bytes, model.memory);
  EXPECT_EQ(major * 10 + minor, model.major * 10 + model.minor);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), major);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), minor);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), model.multiprocessors);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), model.l2_bytes);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE), model.clock_khz);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE), model.memory_clock_khz);
}

TEST_F(Models, TheRuntimeSaysWhatTheDriverSays) {
  cudaDeviceProp properties = {};
  int clock = 0;

  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0), cudaSuccess);

  EXPECT_EQ(properties.name, model.title());
  EXPECT_EQ(properties.totalGlobalMem, model.memory);
  EXPECT_EQ(properties.major, model.major);
  EXPECT_EQ(properties.minor, model.minor);
  EXPECT_EQ(properties.multiProcessorCount, model.multiprocessors);
  EXPECT_EQ(properties.sharedMemPerBlock, 48U << 10);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, static_cast<std::size_t>(model.block_shared));
  EXPECT_EQ(properties.sharedMemPerMultiprocessor,
            static_cast<std::size_t>(model.multiprocessor_shared));
  EXPECT_EQ(properties.maxThreadsPerMultiProcessor, model.multiprocessor_threads);
  EXPECT_EQ(properties.maxBlocksPerMultiProcessor, model.multiprocessor_blocks);
  EXPECT_EQ(properties.l2CacheSize, model.l2_bytes);
  EXPECT_EQ(properties.memoryBusWidth, model.bus_bits);
  EXPECT_EQ(properties.asyncEngineCount, model.copy_engines);
  EXPECT_EQ(properties.integrated, model.integrated);
  EXPECT_EQ(clock, attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
}

TEST_F(Models, HostMemoryIsTheDevicesWhereItIsIntegrated) {
  constexpr std::size_t kBytes = std::size_t{96} << 20;
  const std::size_t taken = model.integrated != 0 ? kBytes : 0;
  void* pinned = nullptr;
  void* managed = nullptr;
  std::size_t before = 0, between = 0, both = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);

  ASSERT_EQ(cudaMallocHost(&pinned, kBytes), cudaSuccess);
  cudaMemGetInfo(&between, &total);
  ASSERT_EQ(cudaMallocManaged(&managed, kBytes), cudaSuccess);
  cudaMemGetInfo(&both, &total);
  cudaFree(managed);
  cudaFreeHost(pinned);
  cudaMemGetInfo(&after, &total);

  EXPECT_EQ(before - between, taken);
  EXPECT_EQ(between - both, taken);
  EXPECT_EQ(after, before);
}

TEST_F(Models, HostMemoryRunsOutWithAnIntegratedDevice) {
  const cudaError_t code = model.integrated != 0 ? cudaErrorMemoryAllocation : cudaSuccess;
  void* pinned = nullptr;
  void* managed = nullptr;
  std::size_t free = 0, total = 0, after = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);

  EXPECT_EQ(cudaMallocHost(&pinned, free + 1), code);
  EXPECT_EQ(cudaMallocManaged(&managed, free + 1), code);
  (void)cudaGetLastError();
  cudaFreeHost(pinned);
  cudaFree(managed);
  cudaMemGetInfo(&after, &total);

  EXPECT_EQ(after, free);
}

// Ordinary memory of the host is what a kernel may use where both walk the same page tables.
TEST_F(Models, TellWhatReachesTheMemoryOfTheOther) {
  const bool is_grace = model.key == "gb10" || model.key == "gh200";

  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS), is_grace);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES), is_grace);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
            model.key == "gh200");
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED), model.key != "gb10");
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED), model.key == "gb10" || model.key == "orin");
}

TEST_F(Models, KernelsAreBuiltForTheModel) {
  static const char kernel = 0;  // its address is what a program launches
  __cudaRegisterFunction(nullptr, &kernel, nullptr, "kernel", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  cudaFuncAttributes attributes = {};
  int blocks = 0;

  ASSERT_EQ(cudaFuncGetAttributes(&attributes, &kernel), cudaSuccess);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 256, 0), cudaSuccess);

  EXPECT_EQ(attributes.binaryVersion, model.major * 10 + model.minor);
  EXPECT_EQ(blocks, model.multiprocessor_threads / 256);
}

TEST_F(Models, OccupancyFitsTheModel) {
  static const char kernel = 0;
  __cudaRegisterFunction(nullptr, &kernel, nullptr, "kernel", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {4, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = {64, 1, 1};
  config.blockDim = {512, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  std::size_t one = 0, many = 0;
  int size = 0, clusters = 0, has_clusters = -1;

  ASSERT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&one, &kernel, 1, 32), cudaSuccess);
  ASSERT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&many, &kernel, 8, 32), cudaSuccess);
  EXPECT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&many, &kernel, 0, 32),
            cudaErrorInvalidValue);
  EXPECT_EQ(one, static_cast<std::size_t>(model.block_shared));
  EXPECT_LE(many * 8, static_cast<std::size_t>(model.multiprocessor_shared));
  EXPECT_GT(many, 0u);
  cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, 0);
  EXPECT_EQ(has_clusters, model.major >= 9 ? 1 : 0);

  const cudaError_t answer = cudaOccupancyMaxActiveClusters(&clusters, &kernel, &config);
  EXPECT_EQ(answer, cudaOccupancyMaxPotentialClusterSize(&size, &kernel, &config));
  if (has_clusters == 0) {
    EXPECT_EQ(answer, cudaErrorNotSupported);
  } else {
    EXPECT_EQ(size, 8);
    EXPECT_EQ(clusters, model.multiprocessors * (model.multiprocessor_threads / 512) / 4);
    attribute.val.clusterDim = {16, 1, 1};
    EXPECT_EQ(cudaOccupancyMaxActiveClusters(&clusters, &kernel, &config),
              cudaErrorInvalidClusterSize);
  }
  (void)cudaGetLastError();
}

TEST_F(Models, NvmlSaysWhatTheDriverSays) {
  void* device = nullptr;
  char name[96] = {};
  int major = 0, minor = 0;
  struct {
    unsigned long long total, free, used;
  } memory = {};

  ASSERT_EQ(of_nvml("nvmlInit_v2"), kSuccess);
  ASSERT_EQ(of_nvml("nvmlDeviceGetHandleByIndex_v2", 0U, &device), kSuccess);
  ASSERT_EQ(of_nvml("nvmlDeviceGetName", device, name, 96U), kSuccess);
  ASSERT_EQ(of_nvml("nvmlDeviceGetCudaComputeCapability", device, &major, &minor), kSuccess);
  const int asked = of_nvml("nvmlDeviceGetMemoryInfo", device, &memory);

  EXPECT_EQ(name, model.title());
  EXPECT_EQ(major * 10 + minor, model.major * 10 + model.minor);
  EXPECT_EQ(asked, model.integrated != 0 ? kNotSupported : kSuccess);
  EXPECT_EQ(memory.total, model.integrated != 0 ? 0 : model.memory);
  EXPECT_EQ(of_nvml("nvmlShutdown"), kSuccess);
}

}  // namespace
}  // namespace vramscope::simulator
