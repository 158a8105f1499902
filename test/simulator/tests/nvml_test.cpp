// The small NVML, as tools that open it by name find it.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

// Values of nvml.h.
constexpr int kSuccess = 0, kUninitialized = 1, kInvalidArgument = 2, kNotSupported = 3;
constexpr int kNotFound = 6;

template <class... Parameters>
int call(const char* symbol, Parameters... parameters) {
  static void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  const auto function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, symbol));
  return function == nullptr ? -1 : function(parameters...);
}

TEST(Nvml, DescribesItsDevices) {
  void* device = nullptr;
  unsigned count = 0, index = 9;
  char name[64] = {};

  EXPECT_EQ(call("nvmlDeviceGetCount", &count), kUninitialized);
  ASSERT_EQ(call("nvmlInitWithFlags", 0U), kSuccess);
  EXPECT_EQ(call("nvmlDeviceGetCount", &count), kSuccess);
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(call("nvmlDeviceGetHandleByIndex", 0U, &device), kSuccess);
  EXPECT_EQ(call("nvmlDeviceGetIndex", device, &index), kSuccess);
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(call("nvmlDeviceGetName", device, name, 64U), kSuccess);
  EXPECT_STREQ(name, "Vramscope simulated device");
  EXPECT_EQ(call("nvmlShutdown"), kSuccess);
}

// NCCL asks so before it makes a communicator.
TEST(Nvml, TellsComputeCapabilityAndPeers) {
  void* device = nullptr;
  int major = 0, minor = 9, status = 9;

  ASSERT_EQ(call("nvmlInit_v2"), kSuccess);
  ASSERT_EQ(call("nvmlDeviceGetHandleByIndex_v2", 0U, &device), kSuccess);
  EXPECT_EQ(call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor), kSuccess);
  EXPECT_EQ(major * 10 + minor, 90);
  EXPECT_EQ(call("nvmlDeviceGetP2PStatus", device, device, 0, &status), kSuccess);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(call("nvmlDeviceGetCudaComputeCapability", nullptr, &major, &minor), kInvalidArgument);
  EXPECT_EQ(call("nvmlShutdown"), kSuccess);
}

// PyTorch asks so, with the numbers of cudaGetDeviceProperties, before it tells of out of memory.
TEST(Nvml, FindsADeviceByItsBus) {
  void* device = nullptr;
  unsigned index = 9, count = 0;
  struct {
    char legacy[16];
    unsigned domain, bus, device, ids[2];
    char text[32];
  } pci = {};

  ASSERT_EQ(call("nvmlInit_v2"), kSuccess);
  ASSERT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "00000000:01:00.0", &device), kSuccess);
  EXPECT_EQ(call("nvmlDeviceGetIndex", device, &index), kSuccess);
  EXPECT_EQ(index, 0u);
  EXPECT_EQ(call("nvmlDeviceGetPciInfo_v3", device, &pci), kSuccess);
  EXPECT_STREQ(pci.text, "00000000:01:00.0");
  EXPECT_EQ(pci.bus, 1u);
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "01:00.0", &device), kSuccess);
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "00000000:02:00.0", &device), kNotFound);
  EXPECT_EQ(call("nvmlDeviceGetHandleByPciBusId_v2", "first", &device), kInvalidArgument);
  EXPECT_EQ(call("nvmlDeviceGetComputeRunningProcesses", device, &count, nullptr), kSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(call("nvmlShutdown"), kSuccess);
}

TEST(Nvml, RefusesWhatItDoesNotModel) {
  unsigned value = 0;

  EXPECT_EQ(call("nvmlDeviceGetTemperature", nullptr, 0, &value), kUninitialized);
  ASSERT_EQ(call("nvmlInit_v2"), kSuccess);
  for (const char* symbol :
       {"nvmlDeviceGetTemperature", "nvmlDeviceGetFanSpeed", "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetPowerUsage", "nvmlDeviceGetCurrentClocksThrottleReasons"}) {
    EXPECT_EQ(call(symbol, nullptr, 0, &value), kNotSupported) << symbol;
  }
  EXPECT_EQ(call("nvmlShutdown"), kSuccess);
}

TEST(Nvml, LastsUntilItsLastUserShutsItDown) {
  unsigned count = 0;

  EXPECT_EQ(call("nvmlShutdown"), kUninitialized);
  ASSERT_EQ(call("nvmlInit_v2"), kSuccess);
  ASSERT_EQ(call("nvmlInit_v2"), kSuccess);
  EXPECT_EQ(call("nvmlShutdown"), kSuccess);
  EXPECT_EQ(call("nvmlDeviceGetCount", &count), kSuccess);
  EXPECT_EQ(call("nvmlShutdown"), kSuccess);

  EXPECT_EQ(call("nvmlDeviceGetCount", &count), kUninitialized);
}

// As UCX does, from the destructor of a library that was loaded before NVML.
TEST(Nvml, MayBeShutDownWhileTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not loaded it yet

  EXPECT_EXIT(
      {
        std::atexit([] { std::_Exit(call("nvmlShutdown") == kSuccess ? 7 : 1); });
        call("nvmlInit_v2");
        std::exit(0);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
