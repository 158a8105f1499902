// The runtime's last error after calls that the driver refuses; what the runtime answers itself.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdio>

static void show(const char* what, cudaError_t code) {
  cudaError_t peeked = cudaPeekAtLastError(), last = cudaGetLastError(), after = cudaGetLastError();
  std::printf("%s: %s, last %s, %s, then %s\n", what, cudaGetErrorName(code),
              cudaGetErrorName(peeked), cudaGetErrorName(last), cudaGetErrorName(after));
}

int main() {
  void *block = nullptr, *none = nullptr, *pinned = nullptr;
  std::size_t free = 0, total = 0;
  show("allocate", cudaMalloc(&block, 3 << 20));
  show("too much", cudaMalloc(&none, std::size_t{1} << 50));
  show("no bytes", cudaMalloc(&none, 0));
  std::printf("pointer null: %d\n", none == nullptr);
  show("free inside", cudaFree(static_cast<char*>(block) + 512));
  show("free", cudaFree(block));
  show("free again", cudaFree(block));
  show("free nothing", cudaFree(nullptr));
  show("pinned", cudaMallocHost(&pinned, 5000));
  show("free as device memory", cudaFree(pinned));
  show("free pinned", cudaFreeHost(pinned));
  show("free pinned nothing", cudaFreeHost(nullptr));
  show("unregister nothing", cudaHostUnregister(nullptr));
  show("free memory", cudaMemGetInfo(&free, &total));
  show("allocate", cudaMalloc(&block, 3 << 20));
  show("free", cudaFree(block));
}
