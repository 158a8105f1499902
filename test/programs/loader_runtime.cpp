// A plug-in with a runtime of its own inside, as NVIDIA's libraries have.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

extern "C" __attribute__((visibility("default"))) int use_memory(unsigned bytes) {
  void* block = nullptr;
  int there = 42, back = 0;
  const cudaError_t results[] = {
      cudaMalloc(&block, bytes), cudaMemcpy(block, &there, sizeof there, cudaMemcpyHostToDevice),
      cudaMemcpy(&back, block, sizeof back, cudaMemcpyDeviceToHost), cudaFree(block)};
  for (const cudaError_t result : results) {
    if (result != cudaSuccess) return static_cast<int>(result);
  }
  return back == there ? 0 : -1;
}

// Memory that another runtime of the process frees, or gave.
extern "C" __attribute__((visibility("default"))) void* take_memory(unsigned bytes) {
  void* block = nullptr;
  return cudaMalloc(&block, bytes) == cudaSuccess ? block : nullptr;
}
extern "C" __attribute__((visibility("default"))) int give_memory(void* block) {
  return static_cast<int>(cudaFree(block));
}
