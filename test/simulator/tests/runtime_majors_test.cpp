// The small runtime under each soname that programs ask for, alone and beside another one.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "test/simulator/tests/plain_bytes.h"

namespace {

struct Runtime {
  explicit Runtime(const char* soname) : library(dlopen(soname, RTLD_NOW | RTLD_LOCAL)) {}

  template <class Function>
  Function call(const char* symbol) const {
    return reinterpret_cast<Function>(dlsym(library, symbol));
  }
  cudaError_t allocate(void** pointer, std::size_t bytes) const {
    return call<cudaError_t (*)(void**, std::size_t)>("cudaMalloc")(pointer, bytes);
  }
  cudaError_t free(void* pointer) const {
    return call<cudaError_t (*)(void*)>("cudaFree")(pointer);
  }
  cudaError_t copy(void* to, const void* from, std::size_t bytes) const {
    return call<decltype(&::cudaMemcpy)>("cudaMemcpy")(to, from, bytes, cudaMemcpyDefault);
  }
  int version() const {
    int version = 0;
    call<cudaError_t (*)(int*)>("cudaRuntimeGetVersion")(&version);
    return version;
  }

  void* library;
};

using Major = std::tuple<const char*, int>;

class RuntimeMajors : public testing::TestWithParam<Major> {};

TEST_P(RuntimeMajors, LoadsUnderItsNameWithItsVersionAndNode) {
  const auto [soname, version] = GetParam();
  const Runtime runtime(soname);
  ASSERT_NE(runtime.library, nullptr) << dlerror();

  EXPECT_EQ(runtime.version(), version);
  EXPECT_NE(dlvsym(runtime.library, "cudaMalloc", soname), nullptr);
  EXPECT_EQ(dlvsym(runtime.library, "cudaMalloc", "libcudart.so.9"), nullptr);
}

TEST_P(RuntimeMajors, ServesMemory) {
  const Runtime runtime(std::get<0>(GetParam()));
  ASSERT_NE(runtime.library, nullptr) << dlerror();
  void* device = nullptr;
  char back[8] = {};

  ASSERT_EQ(runtime.allocate(&device, 64), cudaSuccess);
  EXPECT_EQ(runtime.copy(device, "through", 8), cudaSuccess);
  EXPECT_EQ(runtime.copy(back, device, 8), cudaSuccess);

  EXPECT_STREQ(back, "through");
  EXPECT_EQ(runtime.free(device), cudaSuccess);
}

TEST_P(RuntimeMajors, BeginsWithCodeThatPatchersCanMove) {
#ifdef __aarch64__
  GTEST_SKIP() << "what such tools can move is known of x86-64 alone";
#endif
  const Runtime runtime(std::get<0>(GetParam()));
  ASSERT_NE(runtime.library, nullptr) << dlerror();

  for (const char* symbol :
       {"cudaMalloc", "cudaFree", "cudaMemcpyAsync_ptsz", "cudaGraphAddNode"}) {
    const void* const entry = dlsym(runtime.library, symbol);
    ASSERT_NE(entry, nullptr) << symbol;
    EXPECT_GE(vramscope::simulator::plain_bytes(entry), vramscope::simulator::kPatchBytes)
        << symbol;
  }
}

// A program of that major has no room for more than its own structure.
TEST_P(RuntimeMajors, DescribesADeviceInItsOwnLayout) {
  const auto [soname, version] = GetParam();
  struct Layout {
    const char* symbol;
    std::size_t bytes, multiprocessors;  // size; where multiProcessorCount is
  };
  std::vector<Layout> layouts = {{"cudaGetDeviceProperties", 728, 388}};
  if (version >= 12000) layouts.push_back({"cudaGetDeviceProperties_v2", 1032, 388});
  if (version >= 13000)
    layouts = {{"cudaGetDeviceProperties", sizeof(cudaDeviceProp),
                offsetof(cudaDeviceProp, multiProcessorCount)}};
  const Runtime runtime(soname);
  ASSERT_NE(runtime.library, nullptr) << dlerror();

  for (const auto& [symbol, bytes, multiprocessors] : layouts) {
    std::vector<unsigned char> room(2048, 0xa5);
    const auto describe = runtime.call<cudaError_t (*)(void*, int)>(symbol);
    ASSERT_NE(describe, nullptr) << symbol;
    ASSERT_EQ(describe(room.data(), 0), cudaSuccess);

    int count = 0;
    std::memcpy(&count, room.data() + multiprocessors, sizeof count);
    EXPECT_EQ(count, 16) << symbol;
    EXPECT_NE(room[bytes - 1], 0xa5) << symbol;
    EXPECT_EQ(std::count(room.begin() + static_cast<std::ptrdiff_t>(bytes), room.end(), 0xa5),
              static_cast<std::ptrdiff_t>(room.size() - bytes))
        << symbol;
  }
}

TEST_P(RuntimeMajors, DescribesAPointerInItsOwnLayout) {
  const auto [soname, version] = GetParam();
  constexpr std::size_t kOlder = 24;  // as the compilers of CUDA 11 and 12 have it
  const std::size_t bytes = version < 13000 ? kOlder : sizeof(cudaPointerAttributes);
  const Runtime runtime(soname);
  ASSERT_NE(runtime.library, nullptr) << dlerror();
  void* pinned = nullptr;
  ASSERT_EQ(runtime.call<cudaError_t (*)(void**, std::size_t, unsigned)>("cudaHostAlloc")(&pinned,
                                                                                          4096, 0),
            cudaSuccess);
  std::vector<unsigned char> room(256, 0xa5);

  ASSERT_EQ(runtime.call<cudaError_t (*)(void*, const void*)>("cudaPointerGetAttributes")(
                room.data(), pinned),
            cudaSuccess);

  void* host = nullptr;
  std::memcpy(&host, room.data() + kOlder - sizeof host, sizeof host);
  EXPECT_EQ(host, pinned);
  EXPECT_EQ(std::count(room.begin() + static_cast<std::ptrdiff_t>(bytes), room.end(), 0xa5),
            static_cast<std::ptrdiff_t>(room.size() - bytes));
  runtime.call<cudaError_t (*)(void*)>("cudaFreeHost")(pinned);
}

// Until 12 these took a device's number where 13 takes a location.
TEST_P(RuntimeMajors, PrefetchesWithItsOwnParameters) {
  const auto [soname, version] = GetParam();
  const Runtime runtime(soname);
  ASSERT_NE(runtime.library, nullptr) << dlerror();
  void* managed = nullptr;
  ASSERT_EQ(runtime.call<cudaError_t (*)(void**, std::size_t, unsigned)>("cudaMallocManaged")(
                &managed, 4096, cudaMemAttachGlobal),
            cudaSuccess);

  if (version < 13000) {
    using Older = cudaError_t (*)(const void*, std::size_t, int, cudaStream_t);
    const auto prefetch = runtime.call<Older>("cudaMemPrefetchAsync");
    EXPECT_EQ(prefetch(managed, 4096, -1, nullptr), cudaSuccess);
    EXPECT_EQ(prefetch(managed, 4096, 99, nullptr), cudaErrorInvalidDevice);
  } else {
    const auto prefetch = runtime.call<decltype(&::cudaMemPrefetchAsync)>("cudaMemPrefetchAsync");
    EXPECT_EQ(prefetch(managed, 4096, {cudaMemLocationTypeHost, 0}, 0, nullptr), cudaSuccess);
  }
  runtime.free(managed);
}

// The same name has three parameters until 12, seven since 13, and six as _v2.
TEST_P(RuntimeMajors, TellsOfACaptureWithItsOwnParameters) {
  const auto [soname, version] = GetParam();
  const Runtime runtime(soname);
  ASSERT_NE(runtime.library, nullptr) << dlerror();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  unsigned long long id = 0;
  std::size_t count = 0;
  const cudaStream_t legacy = nullptr;

  if (version < 13000) {
    using First = cudaError_t (*)(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*);
    using Second = cudaError_t (*)(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*,
                                   cudaGraph_t*, const cudaGraphNode_t**, std::size_t*);
    EXPECT_EQ(runtime.call<First>("cudaStreamGetCaptureInfo")(legacy, &status, &id), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    status = cudaStreamCaptureStatusActive;
    EXPECT_EQ(runtime.call<Second>("cudaStreamGetCaptureInfo_v2")(legacy, &status, &id, nullptr,
                                                                  nullptr, &count),
              cudaSuccess);
  } else {
    EXPECT_EQ(runtime.call<decltype(&::cudaStreamGetCaptureInfo)>("cudaStreamGetCaptureInfo")(
                  legacy, &status, &id, nullptr, nullptr, nullptr, &count),
              cudaSuccess);
  }
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
}

INSTANTIATE_TEST_SUITE_P(Each, RuntimeMajors,
                         testing::Values(Major{"libcudart.so.13", 13000},
                                         Major{"libcudart.so.12", 12080},
                                         Major{"libcudart.so.11.0", 11080}));

TEST(RuntimeMajorsTogether, ShareTheDriverAndKeepTheirOwnErrors) {
  const Runtime older("libcudart.so.11.0"), newer("libcudart.so.12");
  ASSERT_NE(older.library, nullptr) << dlerror();
  ASSERT_NE(newer.library, nullptr) << dlerror();
  const auto error_of = [](const Runtime& runtime) {
    return runtime.call<cudaError_t (*)()>("cudaGetLastError")();
  };
  void* device = nullptr;

  ASSERT_EQ(older.allocate(&device, 64), cudaSuccess);
  EXPECT_EQ(newer.free(device), cudaSuccess);
  EXPECT_EQ(older.free(device), cudaErrorInvalidValue);

  EXPECT_EQ(error_of(newer), cudaSuccess);
  EXPECT_EQ(error_of(older), cudaErrorInvalidValue);
}

}  // namespace
