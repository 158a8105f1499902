// The driver as a program sees it: opened at run time, with functions looked up by name. There is
// one driver in one process, so tests share the primary context and clean up after themselves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <memory>
#include <string>

#include "test/simulator/device/vendor.h"

namespace vramscope::simulator {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

// The library that the build made. VRAMSCOPE_SIM of the test's environment applies.
inline void* library() {
  static void* once = dlopen(SIMULATED_DRIVER, RTLD_NOW);
  return once;
}

// CALL(cuMemAlloc_v2)(...) is short for call<&::cuMemAlloc_v2>("cuMemAlloc_v2")(...).
template <class Function>
Function entry(const char* symbol) {
  return reinterpret_cast<Function>(dlsym(library(), symbol));
}
#define CALL(symbol) (entry<decltype(&::symbol)>(#symbol))

class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(library(), nullptr) << dlerror();
    ASSERT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain)(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
  }

  // Everything that the test left ends with the context.
  void TearDown() override {
    CALL(cuCtxSetCurrent)(nullptr);
    CALL(cuDevicePrimaryCtxReset_v2)(0);
  }

  CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, bytes), CUDA_SUCCESS);
    return pointer;
  }

  // Returns the free memory of the current context's device.
  static std::size_t free_bytes() {
    std::size_t free = 0;
    EXPECT_EQ(CALL(cuMemGetInfo_v2)(&free, nullptr), CUDA_SUCCESS);
    return free;
  }

  void* pin(std::size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(CALL(cuMemHostAlloc)(&pointer, bytes, 0), CUDA_SUCCESS);
    return pointer;
  }

  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream made = nullptr;
    EXPECT_EQ(CALL(cuStreamCreate)(&made, flags), CUDA_SUCCESS);
    return made;
  }

  CUcontext context_ = nullptr;
};

// Work that holds a stream until the gate is opened. The gate must be opened.
class Gate {
 public:
  void hold(CUstream stream) {
    ASSERT_EQ(CALL(cuLaunchHostFunc)(stream, &Gate::wait, new std::shared_ptr<State>(state_)),
              CUDA_SUCCESS);
  }
  void open() { state_->opened.set_value(); }

 private:
  struct State {
    std::promise<void> opened;
  };

  // Uses the stream's share of the state, since the gate may be gone before its work.
  static void wait(void* share) {
    const std::unique_ptr<std::shared_ptr<State>> state(
        static_cast<std::shared_ptr<State>*>(share));
    (*state)->opened.get_future().wait();
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace vramscope::simulator
