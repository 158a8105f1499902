// Allocates through wrappers, the standard library and recursion, and keeps all of it.
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "test/programs/driver.h"

// Each is a frame of its own, with the next call in it.
#define FRAME [[gnu::noinline]] static
#define STAYS_A_CALL __asm__ volatile("")

FRAME CUdeviceptr gpu_alloc(std::size_t bytes) {
  const CUdeviceptr block = allocate(bytes);
  STAYS_A_CALL;
  return block;
}

template <class T>
struct DeviceAllocator {
  using value_type = T;
  [[gnu::noinline]] T* allocate(std::size_t count) {
    T* const block = reinterpret_cast<T*>(gpu_alloc(count * sizeof(T)));
    STAYS_A_CALL;
    return block;
  }
  void deallocate(T*, std::size_t) {}
  template <class U>
  void construct(U*) {}  // memory of the GPU
};
using Buffer = std::vector<float, DeviceAllocator<float>>;

FRAME void make_weights() {
  Buffer buffer;
  buffer.reserve(8 << 18);  // 8 MiB
  STAYS_A_CALL;
}

FRAME void make_gradients() {
  Buffer buffer;
  buffer.reserve(4 << 18);
  STAYS_A_CALL;
}

FRAME void walk(int depth) {
  if (depth == 0) gpu_alloc(2 * kMiB);
  if (depth != 0) walk(depth - 1);
  STAYS_A_CALL;
}

int main() {
  start();
  make_weights();
  make_gradients();
  walk(20);
  walk(30);
}
