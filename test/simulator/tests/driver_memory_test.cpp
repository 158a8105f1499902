// Memory through the driver face: codes, placement, numbers (reference, section 4).
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstring>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

using DriverMemory = DriverTest;

TEST_F(DriverMemory, RefusesZeroBytesAndFreesNothing) {
  CUdeviceptr pointer = 77;

  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAlloc_v2)(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pointer, 77u);
  EXPECT_EQ(CALL(cuMemFree_v2)(0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFreeHost)(nullptr), CUDA_SUCCESS);
}

TEST_F(DriverMemory, RefusesInteriorDoubleAndForeignFrees) {
  const CUdeviceptr pointer = allocate(4096);
  int local = 0;

  EXPECT_EQ(CALL(cuMemFree_v2)(pointer + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFree_v2)(pointer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFree_v2)(reinterpret_cast<CUdeviceptr>(&local)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverMemory, PlacesLargeAllocationsOnTheirOwnGranules) {
  const CUdeviceptr small = allocate(1);
  const CUdeviceptr next = allocate(1);
  const CUdeviceptr large = allocate(kMiB + 1);

  EXPECT_EQ(small % 512, 0u);
  EXPECT_EQ(next, small + 512);
  EXPECT_EQ(large % (2 * kMiB), 0u);
}

// An H200's answers: 2 MiB, then 4 MiB are used.
TEST_F(DriverMemory, PacksSmallAllocationsOfEachContextApart) {
  std::size_t before = 0, after = 0;
  CUcontext other = nullptr;
  ASSERT_EQ(CALL(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
  CALL(cuMemGetInfo_v2)(&before, nullptr);
  allocate(512);
  CALL(cuMemGetInfo_v2)(&after, nullptr);
  EXPECT_EQ(before - after, 2 * kMiB);
  CALL(cuCtxSetCurrent)(context_);
  allocate(512);
  CALL(cuMemGetInfo_v2)(&after, nullptr);

  EXPECT_EQ(before - after, 4 * kMiB);
  CALL(cuCtxDestroy_v2)(other);
}

// Holes of 64, 16 and 32 KiB, of which the smallest that is large enough serves.
TEST_F(DriverMemory, FillsHolesOfAChunkByBestFit) {
  constexpr std::size_t kKiB = 1024, kSizes[] = {64 * kKiB, 16 * kKiB, 32 * kKiB};
  CUdeviceptr holes[3] = {};
  for (int i = 0; i < 3; ++i) {
    holes[i] = allocate(kSizes[i]);
    allocate(4 * kKiB);
  }
  for (const CUdeviceptr hole : holes) CALL(cuMemFree_v2)(hole);

  EXPECT_EQ(allocate(16 * kKiB), holes[1]);
  EXPECT_EQ(allocate(24 * kKiB), holes[2]);
}

TEST_F(DriverMemory, MovesFreeMemoryInGranules) {
  std::size_t before = 0, after = 0, total = 0;

  CALL(cuMemGetInfo_v2)(&before, &total);
  const CUdeviceptr pointer = allocate(2 * kMiB + 1);
  CALL(cuMemGetInfo_v2)(&after, nullptr);
  EXPECT_EQ(before - after, 4 * kMiB);
  CALL(cuMemFree_v2)(pointer);
  CALL(cuMemGetInfo_v2)(&after, &total);

  EXPECT_EQ(after, before);
  EXPECT_EQ(total, std::size_t{16} << 30);
}

TEST_F(DriverMemory, RefusesMoreThanThereIs) {
  CUdeviceptr pointer = 0;

  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, std::size_t{17} << 30), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CALL(cuMemAlloc_v2)(&pointer, ~std::size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(DriverMemory, FaultsWhenTheHostTouchesADevicePointer) {
  auto* bytes = reinterpret_cast<volatile char*>(allocate(4096));

  // Death of any kind: a sanitizer turns the signal into its own exit. Nothing else may end it.
  EXPECT_DEATH(
      {
        bytes[0] = 1;
        std::_Exit(0);
      },
      "");
}

TEST_F(DriverMemory, SharesManagedMemoryAtOneAddress) {
  CUdeviceptr managed = 0;
  ASSERT_EQ(CALL(cuMemAllocManaged)(&managed, 100, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  const CUdeviceptr device = allocate(100);
  char back[8] = {};

  std::strcpy(reinterpret_cast<char*>(managed), "managed");
  EXPECT_EQ(CALL(cuMemcpyDtoD_v2)(device, managed, 8), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(back, device, 8), CUDA_SUCCESS);

  EXPECT_STREQ(back, "managed");
  EXPECT_EQ(CALL(cuMemFree_v2)(managed), CUDA_SUCCESS);
}

TEST_F(DriverMemory, FreesPitchedAndStreamOrderedMemory) {
  CUdeviceptr pitched = 0, ordered = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(CALL(cuMemAllocPitch_v2)(&pitched, &pitch, 100, 10, 4), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuMemAllocAsync)(&ordered, 100, nullptr), CUDA_SUCCESS);

  EXPECT_EQ(pitch, 512u);
  EXPECT_EQ(CALL(cuMemFree_v2)(pitched), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFree_v2)(ordered), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAllocPitch_v2)(&pitched, &pitch, 100, 10, 3), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverMemory, DescribesAllocationsNotGranules) {
  const CUdeviceptr pointer = allocate(1000);
  CUdeviceptr start = 0;
  std::size_t bytes = 0;

  EXPECT_EQ(CALL(cuMemGetAddressRange_v2)(&start, &bytes, pointer + 999), CUDA_SUCCESS);
  EXPECT_EQ(start, pointer);
  EXPECT_EQ(bytes, 1000u);
  EXPECT_EQ(CALL(cuMemGetAddressRange_v2)(&start, &bytes, pointer + 1000), CUDA_ERROR_NOT_FOUND);
}

TEST_F(DriverMemory, GivesEachAllocationANewBufferId) {
  const CUdeviceptr first = allocate(1000);
  unsigned long long id = 0, later = 0;

  CALL(cuPointerGetAttribute)(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, first);
  CALL(cuMemFree_v2)(first);
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&later, CU_POINTER_ATTRIBUTE_BUFFER_ID, first),
            CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr again = allocate(1000);
  CALL(cuPointerGetAttribute)(&later, CU_POINTER_ATTRIBUTE_BUFFER_ID, again);

  EXPECT_EQ(again, first);
  EXPECT_GT(later, id);
}

TEST_F(DriverMemory, RegistersExactRangesOnce) {
  static char memory[100];

  EXPECT_EQ(CALL(cuMemHostRegister_v2)(memory, 50, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemHostRegister_v2)(memory + 50, 50, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemHostRegister_v2)(memory + 49, 2, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(CALL(cuMemHostUnregister)(memory + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemHostUnregister)(memory), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemHostUnregister)(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(CALL(cuMemHostUnregister)(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverMemory, PinsOrdinaryMemoryOutsideTheDevice) {
  std::size_t before = 0, after = 0;
  unsigned flags = 0;

  CALL(cuMemGetInfo_v2)(&before, nullptr);
  void* pinned = pin(4 * kMiB);
  std::memset(pinned, 1, 4 * kMiB);
  CALL(cuMemGetInfo_v2)(&after, nullptr);

  EXPECT_EQ(before, after);
  EXPECT_EQ(CALL(cuMemHostGetFlags)(&flags, pinned), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_EQ(CALL(cuMemHostUnregister)(pinned), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFree_v2)(reinterpret_cast<CUdeviceptr>(pinned)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFreeHost)(static_cast<char*>(pinned) + 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFreeHost)(pinned), CUDA_SUCCESS);
}

// As an H200 with driver 580.159.04 answered for each set of flags and sizes from 4 bytes to 16
// MiB.
TEST_F(DriverMemory, TellsTheFlagsOfPinnedMemory) {
  const auto told = [](std::size_t bytes, unsigned flags) {
    void* pinned = nullptr;
    unsigned result = 0;
    EXPECT_EQ(CALL(cuMemHostAlloc)(&pinned, bytes, flags), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemHostGetFlags)(&result, pinned), CUDA_SUCCESS);
    return std::pair{result, pinned};
  };
  for (const unsigned flags : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
    for (const std::size_t bytes : {std::size_t{100'000}, 16 * kMiB}) {
      const auto [alone, first] = told(bytes, flags);
      EXPECT_EQ(alone, flags | CU_MEMHOSTALLOC_DEVICEMAP) << flags << " " << bytes;
      EXPECT_EQ(CALL(cuMemFreeHost)(first), CUDA_SUCCESS);
    }
  }
  EXPECT_EQ(told(100'000, 0).first, 2U);
  EXPECT_EQ(told(100'000, CU_MEMHOSTALLOC_PORTABLE).first, 2U) << "cut from the plain chunk";
  EXPECT_EQ(told(2 * kMiB, CU_MEMHOSTALLOC_PORTABLE).first, 3U) << "too large for one";
  EXPECT_EQ(told(100'000, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED).first, 7U);
}

TEST_F(DriverMemory, TellsTheFlagsOfRegisteredMemory) {
  static char memory[1 << 20];
  for (const unsigned flags : {0U, 1U, 2U, 3U}) {
    unsigned told = 0;
    EXPECT_EQ(CALL(cuMemHostRegister_v2)(memory, sizeof memory, flags), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemHostGetFlags)(&told, memory), CUDA_SUCCESS);
    EXPECT_EQ(told, flags | CU_MEMHOSTREGISTER_DEVICEMAP);
    EXPECT_EQ(CALL(cuMemHostUnregister)(memory), CUDA_SUCCESS);
  }
}

TEST_F(DriverMemory, RefusesToOpenItsOwnIpcHandle) {
  const CUdeviceptr pointer = allocate(kMiB);
  CUipcMemHandle handle;
  CUdeviceptr opened = 0;

  EXPECT_EQ(CALL(cuIpcGetMemHandle)(&handle, pointer), CUDA_SUCCESS);
  EXPECT_NE(CALL(cuIpcOpenMemHandle_v2)(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_SUCCESS);
}

TEST_F(DriverMemory, CountsWhatAPoolHolds) {
  CUmemoryPool pool = nullptr;
  CUdeviceptr pointer = 0;
  cuuint64_t used = 0, high = 0;
  ASSERT_EQ(CALL(cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);

  ASSERT_EQ(CALL(cuMemAllocAsync)(&pointer, 5000, nullptr), CUDA_SUCCESS);
  CALL(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
  EXPECT_EQ(used, 5120u);
  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemFreeAsync)(pointer, nullptr), CUDA_ERROR_INVALID_VALUE);
  CALL(cuCtxSynchronize)();
  CALL(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
  CALL(cuMemPoolGetAttribute)(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high);

  EXPECT_EQ(used, 0u);
  EXPECT_GE(high, 5120u);
}

// Since r580 (maru#65).
TEST_F(DriverMemory, RegistersLessThan512GiBAtOnce) {
  constexpr std::size_t kMost = std::size_t{512} << 30;
  void* const memory =
      mmap(nullptr, kMost, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);

  EXPECT_EQ(CALL(cuMemHostRegister_v2)(memory, kMost, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CALL(cuMemHostRegister_v2)(memory, kMost - 4096, 0), CUDA_SUCCESS);

  EXPECT_EQ(CALL(cuMemHostUnregister)(memory), CUDA_SUCCESS);
  munmap(memory, kMost);
}

}  // namespace
}  // namespace vramscope::simulator
