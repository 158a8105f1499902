// The small runtime under each soname that programs ask for, alone and beside another one.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

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
