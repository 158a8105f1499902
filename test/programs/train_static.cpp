// A program with the runtime inside it: device, pinned and registered memory, freed in the end.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define MUST(call) must((call), #call)

static void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  std::exit(3);
}

[[gnu::noinline]] void* make_weights() {
  void* weights = nullptr;
  MUST(cudaMalloc(&weights, 40 << 20));
  return weights;
}

[[gnu::noinline]] void train_step(int step, unsigned char* staging, std::size_t bytes) {
  void* batch = nullptr;
  MUST(cudaMalloc(&batch, bytes));
  std::memset(staging, step, bytes);
  MUST(cudaMemcpy(batch, staging, bytes, cudaMemcpyHostToDevice));
  std::memset(staging, 0xee, bytes);
  MUST(cudaMemcpy(staging, batch, bytes, cudaMemcpyDeviceToHost));
  std::printf("step %d: first %d, last %d\n", step, staging[0], staging[bytes - 1]);
  MUST(cudaFree(batch));
}

[[gnu::noinline]] void pin_and_unpin() {
  std::vector<char> table(3 << 20);
  MUST(cudaHostRegister(table.data(), table.size(), cudaHostRegisterDefault));
  void* buffer = nullptr;
  MUST(cudaHostAlloc(&buffer, 100000, cudaHostAllocPortable));
  MUST(cudaFreeHost(buffer));
  MUST(cudaHostUnregister(table.data()));
}

int main() {
  void* staging = nullptr;
  MUST(cudaMallocHost(&staging, 2 << 20));
  void* weights = make_weights();
  for (int step = 0; step < 6; ++step) {
    train_step(step, static_cast<unsigned char*>(staging), 300000 + 200000 * (step % 4));
  }
  pin_and_unpin();
  MUST(cudaFree(weights));
  MUST(cudaFreeHost(staging));

  void* nothing = &nothing;
  std::printf("no bytes: %d\n", cudaMalloc(&nothing, 0));
  std::printf("free nothing: %d\n", cudaFree(nullptr));
  std::printf("done\n");
}
