// Pools through the driver face: what they keep, count, allow and share.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

class DriverPools : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CALL(cuCtxSynchronize)();  // pools of other tests give back what they kept
    pool_ = create();
    work_ = stream();
  }
  void TearDown() override {
    CALL(cuMemPoolDestroy)(pool_);
    DriverTest::TearDown();
  }

  CUmemoryPool create(std::size_t most = 0,
                      CUmemAllocationHandleType types = CU_MEM_HANDLE_TYPE_NONE) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = types;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    properties.maxSize = most;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(CALL(cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
    return pool;
  }

  CUdeviceptr take(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&pointer, bytes, pool_, work_), CUDA_SUCCESS);
    return pointer;
  }

  cuuint64_t attribute(CUmemPool_attribute name) {
    cuuint64_t value = 0;
    EXPECT_EQ(CALL(cuMemPoolGetAttribute)(pool_, name, &value), CUDA_SUCCESS);
    return value;
  }

  void set(CUmemPool_attribute name, cuuint64_t value, CUresult expected = CUDA_SUCCESS) {
    EXPECT_EQ(CALL(cuMemPoolSetAttribute)(pool_, name, &value), expected);
  }

  std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(CALL(cuMemGetInfo_v2)(&free, &total), CUDA_SUCCESS);
    return free;
  }

  CUmemoryPool pool_ = nullptr;
  CUstream work_ = nullptr;
};

TEST_F(DriverPools, KeepNothingBeyondTheNextWaitByDefault) {
  const std::size_t before = free_bytes();
  const CUdeviceptr pointer = take(3 * kMiB);

  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 3 * kMiB);
  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, work_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuStreamSynchronize)(work_), CUDA_SUCCESS);

  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 4 * kMiB);
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DriverPools, KeepUpToTheThresholdUntilATrim) {
  const std::size_t before = free_bytes();
  set(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4 * kMiB);
  const CUdeviceptr one = take(4 * kMiB), two = take(4 * kMiB);
  CALL(cuMemFreeAsync)(one, work_);
  CALL(cuMemFreeAsync)(two, work_);
  CALL(cuStreamSynchronize)(work_);

  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(free_bytes(), before - 4 * kMiB);
  const CUdeviceptr again = take(kMiB);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(CALL(cuMemPoolTrimTo)(pool_, 0), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);  // a piece is in use
  EXPECT_EQ(CALL(cuMemFree_v2)(again), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemPoolTrimTo)(pool_, 1), CUDA_SUCCESS);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(CALL(cuMemPoolTrimTo)(pool_, 0), CUDA_SUCCESS);

  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DriverPools, GiveWayToOthersWhenTheDeviceIsFull) {
  set(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~cuuint64_t{0});
  CALL(cuMemFreeAsync)(take(64 * kMiB), work_);
  CALL(cuStreamSynchronize)(work_);
  const std::size_t rest = free_bytes() + 32 * kMiB;
  CUdeviceptr pointer = 0;

  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, rest), CUDA_SUCCESS);

  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0u);
  CALL(cuMemFree_v2)(pointer);
}

TEST_F(DriverPools, HighMarksCanOnlyBeReset) {
  CALL(cuMemFreeAsync)(take(kMiB), work_);
  CALL(cuStreamSynchronize)(work_);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_USED_MEM_HIGH), kMiB);

  set(CU_MEMPOOL_ATTR_USED_MEM_HIGH, 1, CUDA_ERROR_INVALID_VALUE);
  set(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 0, CUDA_ERROR_INVALID_VALUE);
  set(CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
  set(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);

  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0u);
  EXPECT_EQ(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 0u);
}

TEST_F(DriverPools, ObeyTheirOwnLimit) {
  const CUmemoryPool small = create(4 * kMiB);
  CUdeviceptr one = 0, two = 0;

  EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&one, 3 * kMiB, small, work_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&two, 2 * kMiB, small, work_), CUDA_ERROR_OUT_OF_MEMORY);

  EXPECT_EQ(CALL(cuMemFreeAsync)(one, work_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemPoolDestroy)(small), CUDA_SUCCESS);
}

TEST_F(DriverPools, AreDestroyedOnceAndLeaveTheirMemoryValid) {
  const std::size_t before = free_bytes();
  const CUdeviceptr pointer = take(kMiB);
  CUmemoryPool now = nullptr, standard = nullptr;
  EXPECT_EQ(CALL(cuDeviceSetMemPool)(0, pool_), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemPoolDestroy)(pool_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemPoolDestroy)(pool_), CUDA_ERROR_INVALID_VALUE);
  CALL(cuDeviceGetMemPool)(&now, 0);
  CALL(cuDeviceGetDefaultMemPool)(&standard, 0);
  EXPECT_EQ(now, standard);
  EXPECT_EQ(CALL(cuMemPoolDestroy)(standard), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemsetD8_v2)(pointer, 1, kMiB), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, work_), CUDA_SUCCESS);
  CALL(cuStreamSynchronize)(work_);

  EXPECT_EQ(free_bytes(), before);
}

TEST_F(DriverPools, CanBeAskedForByPlace) {
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool now = nullptr;

  EXPECT_EQ(CALL(cuMemSetMemPool)(&device, CU_MEM_ALLOCATION_TYPE_PINNED, pool_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemGetMemPool)(&now, &device, CU_MEM_ALLOCATION_TYPE_PINNED), CUDA_SUCCESS);
  EXPECT_EQ(now, pool_);
  EXPECT_EQ(CALL(cuMemGetDefaultMemPool)(&now, &device, CU_MEM_ALLOCATION_TYPE_PINNED),
            CUDA_SUCCESS);
  EXPECT_NE(now, pool_);

  EXPECT_EQ(CALL(cuMemSetMemPool)(&device, CU_MEM_ALLOCATION_TYPE_PINNED, now), CUDA_SUCCESS);
}

TEST_F(DriverPools, AreExportedWhenTheyWereMadeForIt) {
  const CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUmemoryPool shared = create(0, type);
  CUmemoryPool imported = nullptr;
  CUmemPoolPtrExportData data = {};
  CUdeviceptr pointer = 0, other = 0;
  int file = -1;

  EXPECT_EQ(CALL(cuMemPoolExportToShareableHandle)(&file, pool_, type, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemPoolExportToShareableHandle)(&file, shared, type, 0), CUDA_SUCCESS);
  void* handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  EXPECT_EQ(CALL(cuMemPoolImportFromShareableHandle)(&imported, handle, type, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&pointer, 64, imported, work_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuDeviceSetMemPool)(0, imported), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&pointer, 64, shared, work_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemPoolExportPointer)(&data, pointer), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemPoolImportPointer)(&other, imported, &data), CUDA_ERROR_NOT_SUPPORTED);

  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, work_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemPoolDestroy)(imported), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemPoolDestroy)(shared), CUDA_SUCCESS);
  close(file);
}

TEST_F(DriverPools, OfManagedMemoryServeTheHostToo) {
  CUmemLocation anywhere = {CU_MEM_LOCATION_TYPE_NONE, {0}};
  CUmemoryPool managed = nullptr;
  CUdeviceptr pointer = 0;
  ASSERT_EQ(CALL(cuMemGetDefaultMemPool)(&managed, &anywhere, CU_MEM_ALLOCATION_TYPE_MANAGED),
            CUDA_SUCCESS);

  ASSERT_EQ(CALL(cuMemAllocFromPoolAsync)(&pointer, kMiB, managed, work_), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuStreamSynchronize)(work_), CUDA_SUCCESS);
  *reinterpret_cast<int*>(pointer) = 42;
  int back = 0;
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&back, pointer, sizeof back), CUDA_SUCCESS);
  EXPECT_EQ(back, 42);
  int is_managed = 0;
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer),
            CUDA_SUCCESS);
  EXPECT_EQ(is_managed, 1);
  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, work_), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, work_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverPools, OfManagedMemoryAreNoDevicesPools) {
  CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool managed = nullptr, current = nullptr;
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
  properties.location = device;
  ASSERT_EQ(CALL(cuMemPoolCreate)(&managed, &properties), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuDeviceSetMemPool)(0, managed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemSetMemPool)(&device, CU_MEM_ALLOCATION_TYPE_MANAGED, managed), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemGetMemPool)(&current, &device, CU_MEM_ALLOCATION_TYPE_MANAGED), CUDA_SUCCESS);
  EXPECT_EQ(current, managed);
  EXPECT_EQ(CALL(cuMemPoolDestroy)(managed), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemGetMemPool)(&current, &device, CU_MEM_ALLOCATION_TYPE_MANAGED), CUDA_SUCCESS);
  EXPECT_NE(current, managed);
}

TEST_F(DriverPools, SayWhichHandlesTheyShare) {
  int types = 0;

  EXPECT_EQ(
      CALL(cuDeviceGetAttribute)(&types, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0),
      CUDA_SUCCESS);

  EXPECT_EQ(types, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

}  // namespace
}  // namespace vramscope::simulator
