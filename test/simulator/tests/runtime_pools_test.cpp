// The small runtime's calls on pools: who may reach one, how it is shared, which is the default.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

class RuntimePools : public testing::Test {
 protected:
  void SetUp() override {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    properties.location = device_;
    ASSERT_EQ(cudaMemPoolCreate(&pool_, &properties), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaMemPoolDestroy(pool_), cudaSuccess);
    (void)cudaGetLastError();
  }

  cudaMemLocation device_ = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool_ = nullptr;
};

TEST_F(RuntimePools, TellWhoMayReachThem) {
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  const cudaMemAccessDesc wanted = {device_, cudaMemAccessFlagsProtReadWrite};

  EXPECT_EQ(cudaMemPoolSetAccess(pool_, &wanted, 1), cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAccess(&flags, pool_, &device_), cudaSuccess);

  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  EXPECT_EQ(cudaMemPoolSetAccess(nullptr, &wanted, 1), cudaErrorInvalidValue);
}

TEST_F(RuntimePools, AreSharedByFileDescriptors) {
  int file = -1;
  cudaMemPool_t imported = nullptr;

  ASSERT_EQ(
      cudaMemPoolExportToShareableHandle(&file, pool_, cudaMemHandleTypePosixFileDescriptor, 0),
      cudaSuccess);
  void* handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  EXPECT_EQ(cudaMemPoolImportFromShareableHandle(&imported, handle,
                                                 cudaMemHandleTypePosixFileDescriptor, 0),
            cudaSuccess);

  EXPECT_EQ(cudaMemPoolDestroy(imported), cudaSuccess);
  close(file);
}

TEST_F(RuntimePools, ExportTheirPointers) {
  void *pointer = nullptr, *imported = nullptr;
  cudaMemPoolPtrExportData data = {};
  ASSERT_EQ(cudaMallocFromPoolAsync(&pointer, 4096, pool_, nullptr), cudaSuccess);

  EXPECT_EQ(cudaMemPoolExportPointer(&data, pointer), cudaSuccess);
  EXPECT_EQ(cudaMemPoolExportPointer(&data, this), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolImportPointer(&imported, pool_, &data), cudaErrorInvalidValue);

  EXPECT_EQ(cudaFreeAsync(pointer, nullptr), cudaSuccess);
}

TEST_F(RuntimePools, AreTheDefaultsOfAPlaceAndKind) {
  cudaMemPool_t pinned = nullptr, managed = nullptr, of_device = nullptr, current = nullptr;
  cudaDeviceGetDefaultMemPool(&of_device, 0);

  EXPECT_EQ(cudaMemGetDefaultMemPool(&pinned, &device_, cudaMemAllocationTypePinned), cudaSuccess);
  EXPECT_EQ(cudaMemGetDefaultMemPool(&managed, &device_, cudaMemAllocationTypeManaged),
            cudaSuccess);
  EXPECT_EQ(pinned, of_device);
  EXPECT_NE(managed, pinned);
  EXPECT_EQ(cudaMemSetMemPool(&device_, cudaMemAllocationTypePinned, pool_), cudaSuccess);
  EXPECT_EQ(cudaMemGetMemPool(&current, &device_, cudaMemAllocationTypePinned), cudaSuccess);
  EXPECT_EQ(current, pool_);

  cudaMemSetMemPool(&device_, cudaMemAllocationTypePinned, of_device);
}

}  // namespace
