// Virtual memory management in one process.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

constexpr std::size_t kStep = 2 * kMiB;  // the granularity

using Handle = CUmemGenericAllocationHandle;

CUmemAllocationProp properties() {
  CUmemAllocationProp wanted = {};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return wanted;
}

class DriverVirtualMemory : public DriverTest {
 protected:
  // Virtual memory outlives contexts: whatever a test leaves behind would count for the next.
  void SetUp() override {
    DriverTest::SetUp();
    free_before_ = free_bytes();
  }
  void TearDown() override {
    EXPECT_EQ(free_bytes(), free_before_);
    DriverTest::TearDown();
  }

  static CUdeviceptr reserve(std::size_t bytes) {
    CUdeviceptr start = 0;
    EXPECT_EQ(CALL(cuMemAddressReserve)(&start, bytes, 0, 0, 0), CUDA_SUCCESS);
    return start;
  }

  static Handle create(std::size_t bytes, const CUmemAllocationProp& wanted = properties()) {
    Handle handle = 0;
    EXPECT_EQ(CALL(cuMemCreate)(&handle, bytes, &wanted, 0), CUDA_SUCCESS);
    return handle;
  }

  static CUresult map(CUdeviceptr start, std::size_t bytes, Handle handle) {
    return CALL(cuMemMap)(start, bytes, 0, handle, 0);
  }

  static CUresult allow(CUdeviceptr start, std::size_t bytes,
                        CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, flags};
    return CALL(cuMemSetAccess)(start, bytes, &access, 1);
  }

  static CUresult write(CUdeviceptr to, int value) {
    return CALL(cuMemcpyHtoD_v2)(to, &value, sizeof value);
  }
  static int read(CUdeviceptr from) {
    int value = -1;
    EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&value, from, sizeof value), CUDA_SUCCESS);
    return value;
  }

  std::size_t free_before_ = 0;
};

TEST_F(DriverVirtualMemory, ShowsOneMemoryAtTwoAddresses) {
  const CUdeviceptr start = reserve(2 * kStep);
  const Handle handle = create(kStep);

  EXPECT_EQ(map(start, kStep, handle), CUDA_SUCCESS);
  EXPECT_EQ(map(start + kStep, kStep, handle), CUDA_SUCCESS);
  EXPECT_EQ(allow(start, 2 * kStep), CUDA_SUCCESS);
  EXPECT_EQ(write(start + 100, 7), CUDA_SUCCESS);
  EXPECT_EQ(read(start + kStep + 100), 7);

  EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemUnmap)(start, 2 * kStep), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAddressFree)(start, 2 * kStep), CUDA_SUCCESS);
}

TEST_F(DriverVirtualMemory, HoldsMemoryUntilTheLastReleaseAndUnmap) {
  const CUdeviceptr start = reserve(kStep);
  const Handle handle = create(kStep);
  Handle again = 0;

  EXPECT_EQ(free_bytes(), free_before_ - kStep);
  EXPECT_EQ(map(start, kStep, handle), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_bytes(), free_before_ - kStep);
  void* inside = reinterpret_cast<void*>(start + 12345);
  EXPECT_EQ(CALL(cuMemRetainAllocationHandle)(&again, inside), CUDA_SUCCESS);
  EXPECT_EQ(again, handle);
  EXPECT_EQ(CALL(cuMemUnmap)(start, kStep), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), free_before_ - kStep);
  EXPECT_EQ(CALL(cuMemRetainAllocationHandle)(&again, inside), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), free_before_);
  EXPECT_EQ(map(start, kStep, handle), CUDA_ERROR_INVALID_VALUE);

  EXPECT_EQ(CALL(cuMemAddressFree)(start, kStep), CUDA_SUCCESS);
}

TEST_F(DriverVirtualMemory, RefusesCrookedSizesAndAddresses) {
  CUdeviceptr pointer = 1;
  Handle handle = 1;
  const CUmemAllocationProp wanted = properties();
  const auto reserve_call = CALL(cuMemAddressReserve);
  const auto create_call = CALL(cuMemCreate);

  EXPECT_EQ(reserve_call(&pointer, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(reserve_call(&pointer, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(reserve_call(&pointer, kStep, 3 * kMiB, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(reserve_call(&pointer, kStep, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(reserve_call(nullptr, kStep, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_call(&handle, 0, &wanted, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_call(&handle, kMiB, &wanted, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_call(&handle, kStep, &wanted, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_call(&handle, kStep, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create_call(&handle, std::size_t{17} << 30, &wanted, 0), CUDA_ERROR_OUT_OF_MEMORY);

  EXPECT_EQ(pointer, 1u);
  EXPECT_EQ(handle, 1u);
}

TEST_F(DriverVirtualMemory, RefusesPropertiesThatItDoesNotHave) {
  Handle handle = 0;
  std::size_t granularity = 0;
  CUmemAllocationProp wanted = properties();
  const auto code = [&] { return CALL(cuMemCreate)(&handle, kStep, &wanted, 0); };

  EXPECT_EQ(
      CALL(cuMemGetAllocationGranularity)(&granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      CUDA_SUCCESS);
  EXPECT_EQ(granularity, kStep);
  wanted.location.id = 99;
  EXPECT_EQ(code(), CUDA_ERROR_INVALID_DEVICE);
  wanted = properties();
  wanted.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  EXPECT_EQ(code(), CUDA_ERROR_INVALID_VALUE);
  wanted = properties();
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(code(), CUDA_ERROR_NOT_SUPPORTED);
  wanted = properties();
  wanted.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  EXPECT_EQ(code(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverVirtualMemory, MapsOnlyWhatIsReservedAndFree) {
  const CUdeviceptr start = reserve(2 * kStep);
  const CUdeviceptr plain = allocate(kStep);
  const Handle handle = create(kStep);

  EXPECT_EQ(map(start + kMiB, kStep, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(start, kMiB, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(start, 2 * kStep, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(start + 2 * kStep, kStep, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(plain, kStep, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemMap)(start, kStep, 0, handle, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map(start, kStep, handle), CUDA_SUCCESS);
  EXPECT_EQ(map(start, kStep, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAddressFree)(start, 2 * kStep), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFree_v2)(start), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemUnmap)(start, kStep), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemUnmap)(start, kStep), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAddressFree)(start, kStep), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAddressFree)(start, 2 * kStep), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAddressFree)(start, 2 * kStep), CUDA_ERROR_INVALID_VALUE);

  CALL(cuMemRelease)(handle);
  CALL(cuMemFree_v2)(plain);
}

TEST_F(DriverVirtualMemory, UnmapsWholeMappingsOnly) {
  const CUdeviceptr start = reserve(4 * kStep);
  const Handle handle = create(2 * kStep);
  map(start, 2 * kStep, handle);
  map(start + 2 * kStep, 2 * kStep, handle);

  EXPECT_EQ(CALL(cuMemUnmap)(start, kStep), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemUnmap)(start + kStep, kStep), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemUnmap)(start, 3 * kStep), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemUnmap)(start, 4 * kStep), CUDA_SUCCESS);

  CALL(cuMemRelease)(handle);
  CALL(cuMemAddressFree)(start, 4 * kStep);
}

TEST_F(DriverVirtualMemory, LetsCopiesDoWhatAccessAllows) {
  const CUdeviceptr start = reserve(2 * kStep);
  const Handle handle = create(kStep);
  const CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  unsigned long long flags = 99;
  int value = 0;
  map(start, kStep, handle);

  EXPECT_EQ(write(start, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemsetD8_v2)(start, 1, 10), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemGetAccess)(&flags, &here, start), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(allow(start, kMiB), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(allow(start, 2 * kStep), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(allow(start, kStep), CUDA_SUCCESS);
  EXPECT_EQ(write(start, 1), CUDA_SUCCESS);
  EXPECT_EQ(write(start + kStep - 2, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(allow(start, kStep, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemGetAccess)(&flags, &here, start), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_MEM_ACCESS_FLAGS_PROT_READ});
  EXPECT_EQ(write(start, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(read(start), 1);
  CALL(cuMemUnmap)(start, kStep);
  map(start, kStep, handle);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(&value, start, 4), CUDA_ERROR_INVALID_VALUE);

  CALL(cuMemUnmap)(start, kStep);
  CALL(cuMemRelease)(handle);
  CALL(cuMemAddressFree)(start, 2 * kStep);
}

// A segment that grows, as allocators do it: one address range over several memories.
TEST_F(DriverVirtualMemory, CopiesAcrossNeighbouringMappings) {
  const CUdeviceptr start = reserve(3 * kStep);
  for (unsigned i = 0; i < 2; ++i) {
    const Handle handle = create(kStep);
    map(start + i * kStep, kStep, handle);
    allow(start + i * kStep, kStep);
    CALL(cuMemRelease)(handle);
  }
  char bytes[64] = "across";

  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(start + kStep - 3, bytes, 64), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemcpyDtoH_v2)(bytes, start + kStep, 4), CUDA_SUCCESS);
  EXPECT_STREQ(bytes, "oss");
  EXPECT_EQ(CALL(cuMemcpyHtoD_v2)(start + 2 * kStep - 3, bytes, 64), CUDA_ERROR_INVALID_VALUE);

  CALL(cuMemUnmap)(start, 2 * kStep);
  CALL(cuMemAddressFree)(start, 3 * kStep);
}

template <class Value>
Value attribute(CUpointer_attribute name, CUdeviceptr pointer) {
  Value value = {};
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&value, name, pointer), CUDA_SUCCESS) << int{name};
  return value;
}

TEST_F(DriverVirtualMemory, TellsReservationsAndMappingsApart) {
  CUmemAllocationProp wanted = properties();
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const CUdeviceptr start = reserve(3 * kStep);
  const Handle handle = create(kStep, wanted);
  const CUdeviceptr mapped = start + kStep;
  CUdeviceptr range = 0;
  std::size_t bytes = 0;
  unsigned type = 0;
  EXPECT_FALSE(attribute<bool>(CU_POINTER_ATTRIBUTE_MAPPED, mapped));

  map(mapped, kStep, handle);
  CALL(cuMemGetAddressRange_v2)(&range, &bytes, mapped + 5);
  EXPECT_EQ(range, mapped);
  EXPECT_EQ(bytes, kStep);
  EXPECT_TRUE(attribute<bool>(CU_POINTER_ATTRIBUTE_MAPPED, mapped));
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, mapped), start);
  EXPECT_EQ(attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, mapped), 3 * kStep);
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, mapped + 9), mapped);
  EXPECT_EQ(attribute<std::size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, mapped), kStep);
  EXPECT_EQ(attribute<cuuint64_t>(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, mapped), 1u);
  // An H200's answers: there are tokens, asked for which SYNC_MEMOPS reads 1, and no RDMA by
  // itself.
  const auto tokens =
      attribute<CUDA_POINTER_ATTRIBUTE_P2P_TOKENS>(CU_POINTER_ATTRIBUTE_P2P_TOKENS, mapped);
  EXPECT_NE(tokens.p2pToken, 0u);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, mapped), 1);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, mapped), 0);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, mapped), 0u);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, mapped), nullptr);
  EXPECT_FALSE(attribute<bool>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, mapped));
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, start),
            CUDA_ERROR_INVALID_VALUE);

  CUipcMemHandle legacy = {};
  EXPECT_EQ(CALL(cuIpcGetMemHandle)(&legacy, mapped), CUDA_ERROR_INVALID_VALUE);
  CALL(cuMemUnmap)(mapped, kStep);
  CALL(cuMemRelease)(handle);
  CALL(cuMemAddressFree)(start, 3 * kStep);
}

TEST_F(DriverVirtualMemory, TakesHintsForFreeAddresses) {
  const CUdeviceptr first = reserve(kStep);
  CUdeviceptr second = 0, third = 0;

  EXPECT_EQ(CALL(cuMemAddressReserve)(&second, kStep, 0, first, 0), CUDA_SUCCESS);
  EXPECT_NE(second, first);
  CALL(cuMemAddressFree)(first, kStep);
  EXPECT_EQ(CALL(cuMemAddressReserve)(&third, kStep, 64 * kMiB, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(third % (64 * kMiB), 0u);

  CALL(cuMemAddressFree)(second, kStep);
  CALL(cuMemAddressFree)(third, kStep);
}

TEST_F(DriverVirtualMemory, ImportsWhatItExportedAsTheSameMemory) {
  CUmemAllocationProp wanted = properties();
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const Handle handle = create(kStep, wanted);
  const Handle closed = create(kStep);
  Handle imported = 0;
  int file = -1;
  const auto export_call = CALL(cuMemExportToShareableHandle);

  EXPECT_EQ(export_call(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(export_call(&file, closed, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE);
  void* shareable = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  EXPECT_EQ(CALL(cuMemImportFromShareableHandle)(&imported, shareable,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(close(file), 0);
  CALL(cuMemRelease)(handle);
  EXPECT_EQ(free_bytes(), free_before_ - 2 * kStep);
  CUmemAllocationProp found = {};
  EXPECT_EQ(CALL(cuMemGetAllocationPropertiesFromHandle)(&found, imported), CUDA_SUCCESS);
  EXPECT_EQ(found.requestedHandleTypes, wanted.requestedHandleTypes);
  EXPECT_EQ(CALL(cuMemImportFromShareableHandle)(&imported, nullptr,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE);

  CALL(cuMemRelease)(imported);
  CALL(cuMemRelease)(closed);
}

TEST_F(DriverVirtualMemory, GivesDmaBuffersForPagesOfOneAllocation) {
  const CUdeviceptr plain = allocate(kStep);
  int file = -1;
  const auto code = [&](CUdeviceptr start, std::size_t bytes) {
    return CALL(cuMemGetHandleForAddressRange)(&file, start, bytes,
                                               CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  };

  EXPECT_EQ(code(plain, kStep + 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(code(plain + 512, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(code(plain, 100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(code(plain + 4096, 8192), CUDA_SUCCESS);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 8192);

  close(file);
  CALL(cuMemFree_v2)(plain);
}

}  // namespace
}  // namespace vramscope::simulator
