// Says the initial values of its variables, and of those of a fat binary that it loads.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdio>

__managed__ int counter = 41;
__managed__ double table[3] = {1.5, 2.5, -3.5};
__device__ int answer = 7;
__device__ int nothing;
__constant__ float limits[2] = {0.25F, 4};

__global__ void kernel(int* to, double factor) {
  *to = counter + answer + nothing + static_cast<int>(table[1] * factor + limits[0]);
}

#define CHECK(call)                                            \
  do {                                                         \
    if (const cudaError_t error = (call)) {                    \
      std::printf("%s: %s\n", #call, cudaGetErrorName(error)); \
      return 1;                                                \
    }                                                          \
  } while (false)

static int say_own() {
  int numbers[2] = {};
  float read[2] = {};
  size_t offset = 0, bytes = 0;
  std::printf("%d, %.1f %.1f %.1f\n", counter, table[0], table[1], table[2]);
  CHECK(cudaMemcpyFromSymbol(&numbers[0], answer, sizeof(int)));
  CHECK(cudaMemcpyFromSymbol(&numbers[1], nothing, sizeof(int)));
  CHECK(cudaMemcpyFromSymbol(read, limits, sizeof read));
  CHECK(cudaFuncGetParamInfo(reinterpret_cast<const void*>(kernel), 1, &offset, &bytes));
  std::printf("%d %d, %.2f %.2f; %zu %zu\n", numbers[0], numbers[1], read[0], read[1], offset,
              bytes);
  return 0;
}

static int say_loaded(const char* path) {
  cudaLibrary_t library = nullptr;
  void *of_device = nullptr, *of_both = nullptr;
  size_t device_bytes = 0, managed_bytes = 0;
  int number = 0;
  CHECK(cudaLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cudaLibraryGetGlobal(&of_device, &device_bytes, library, "answer"));
  CHECK(cudaMemcpy(&number, of_device, sizeof number, cudaMemcpyDeviceToHost));
  CHECK(cudaLibraryGetManaged(&of_both, &managed_bytes, library, "table"));
  std::printf("%d, %zu; %.1f, %zu\n", number, device_bytes, static_cast<double*>(of_both)[2],
              managed_bytes);
  CHECK(cudaLibraryUnload(library));
  return 0;
}

int main(int count, char** arguments) {
  if (say_own() != 0) return 1;
  return count > 1 ? say_loaded(arguments[1]) : 0;
}
