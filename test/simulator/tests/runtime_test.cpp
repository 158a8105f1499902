// The small runtime, linked statically, over the driver that the loader finds.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>

namespace {

TEST(Runtime, ServesZeroBytesWithoutTheDriver) {
  void* pointer = &pointer;

  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
}

TEST(Runtime, MovesBytesThroughTheDevice) {
  char back[8] = {};
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 100), cudaSuccess);

  EXPECT_EQ(cudaMemcpy(device, "through", 8, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(back, device, 8, cudaMemcpyDeviceToHost), cudaSuccess);

  EXPECT_STREQ(back, "through");
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(Runtime, KeepsTheLastErrorUntilAsked) {
  int local = 0;

  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(nullptr, 0), cudaErrorInvalidValue);

  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

TEST(Runtime, DescribesPointersOfEachKind) {
  cudaPointerAttributes attributes;
  void *device = nullptr, *pinned = nullptr, *managed = nullptr;
  cudaMalloc(&device, 100);
  cudaMallocHost(&pinned, 100);
  cudaMallocManaged(&managed, 100, cudaMemAttachGlobal);

  cudaPointerGetAttributes(&attributes, device);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  cudaPointerGetAttributes(&attributes, pinned);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  cudaPointerGetAttributes(&attributes, managed);
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, &attributes), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);

  cudaFree(device);
  cudaFreeHost(pinned);
  cudaFree(managed);
}

TEST(Runtime, StartsAgainAfterAReset) {
  void* device = nullptr;
  cudaMalloc(&device, 100);

  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);

  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(&device, 100), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  (void)cudaGetLastError();
}

TEST(Runtime, FindsDriverFunctions) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;

  EXPECT_EQ(
      cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &status),
      cudaSuccess);

  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_NE(function, nullptr);
}

}  // namespace
