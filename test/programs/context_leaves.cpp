// A thread destroys its context, which still works, while another frees memory of the same device.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <future>
#include <thread>

#include "test/programs/driver.h"

int main() {
  CUcontext own = start();
  const CUdeviceptr memory = allocate(4 * kMiB);
  CUcontext other = create_context();
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  MUST(cuCtxSetCurrent(own));
  std::promise<void> works;
  const auto work = [](void* begun) {
    static_cast<std::promise<void>*>(begun)->set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  };
  CUresult destroyed = CUDA_SUCCESS;
  std::thread destroying([&] {
    MUST(cuCtxSetCurrent(other));
    MUST(cuLaunchHostFunc(stream, work, &works));
    destroyed = cuCtxDestroy(other);
  });
  works.get_future().wait();
  std::this_thread::sleep_for(
      std::chrono::milliseconds(100));  // the thread is in the driver by now
  show("free", cuMemFree(memory));
  destroying.join();
  show("destroy", destroyed);
}
