// Questions about pointers of every kind, and the rules of registered memory.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

using DriverPointers = DriverTest;

CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

template <class Value>
Value ask(CUpointer_attribute name, CUdeviceptr pointer) {
  Value value = {};
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&value, name, pointer), CUDA_SUCCESS) << int{name};
  return value;
}

CUresult code_of(CUpointer_attribute name, CUdeviceptr pointer) {
  char room[64];
  return CALL(cuPointerGetAttribute)(room, name, pointer);
}

TEST_F(DriverPointers, TellsKindsApart) {
  static char host[100];
  CUdeviceptr managed = 0, ordered = 0;
  const CUdeviceptr plain = allocate(kMiB);
  const CUdeviceptr pinned = address_of(pin(100));
  CALL(cuMemAllocManaged)(&managed, 100, CU_MEM_ATTACH_GLOBAL);
  CALL(cuMemAllocAsync)(&ordered, 100, nullptr);
  CALL(cuMemHostRegister_v2)(host, sizeof host, 0);
  struct Row {
    CUdeviceptr pointer;
    unsigned type;
    bool managed, exportable, on_host;
  };

  for (const Row& row : {Row{plain, CU_MEMORYTYPE_DEVICE, false, true, false},
                         Row{managed, CU_MEMORYTYPE_DEVICE, true, false, true},
                         Row{ordered, CU_MEMORYTYPE_DEVICE, false, false, false},
                         Row{pinned, CU_MEMORYTYPE_HOST, false, false, true},
                         Row{address_of(host), CU_MEMORYTYPE_HOST, false, false, true}}) {
    EXPECT_EQ(ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, row.pointer), row.type);
    EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, row.pointer), int{row.managed});
    EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, row.pointer),
              int{row.exportable});
    EXPECT_EQ(code_of(CU_POINTER_ATTRIBUTE_HOST_POINTER, row.pointer) == CUDA_SUCCESS, row.on_host);
    EXPECT_EQ(ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, row.pointer), row.pointer);
    EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_MAPPED, row.pointer), 1);
    EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, row.pointer), 0);
    EXPECT_EQ(ask<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, row.pointer) != nullptr,
              row.pointer == ordered);
    EXPECT_EQ(ask<unsigned>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, row.pointer), 3u);
  }
  CALL(cuMemHostUnregister)(host);
  CALL(cuMemFree_v2)(ordered);
}

TEST_F(DriverPointers, DescribesRangesAsAskedFor) {
  const CUdeviceptr plain = allocate(1000);

  EXPECT_EQ(ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, plain + 999), plain);
  EXPECT_EQ(ask<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, plain), 1000u);
  // cuda.h, "actual underlying mapping": shared with what was packed beside it.
  EXPECT_EQ(ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, plain + 9),
            plain / (2 * kMiB) * (2 * kMiB));
  EXPECT_EQ(ask<std::size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, plain), 2 * kMiB);
  EXPECT_EQ(code_of(CU_POINTER_ATTRIBUTE_RANGE_SIZE, plain + 1000), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverPointers, KnowsFreedMemoryNoMore) {
  CUdeviceptr start = 0;
  const CUdeviceptr plain = allocate(kMiB);
  void* pinned = pin(100);
  CALL(cuMemFree_v2)(plain);
  CALL(cuMemFreeHost)(pinned);

  EXPECT_EQ(code_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, plain), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemGetAddressRange_v2)(&start, nullptr, plain), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(CALL(cuMemsetD8_v2)(plain, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(code_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(pinned)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemHostGetDevicePointer_v2)(&start, pinned, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemFreeHost)(pinned), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemHostUnregister)(pinned), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(DriverPointers, SetsSyncMemopsByHandAndByTokens) {
  const CUdeviceptr plain = allocate(kMiB);
  CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens = {};
  const unsigned on = 1, off = 0;
  const auto set = CALL(cuPointerSetAttribute);

  EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain), 0);
  EXPECT_EQ(set(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain + 100), CUDA_SUCCESS);
  EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain), 1);
  EXPECT_EQ(set(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuPointerGetAttribute)(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, plain),
            CUDA_SUCCESS);
  EXPECT_NE(tokens.p2pToken, 0u);
  EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain), 1);
  EXPECT_EQ(set(&on, CU_POINTER_ATTRIBUTE_BUFFER_ID, plain), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(code_of(CU_POINTER_ATTRIBUTE_P2P_TOKENS, address_of(pin(100))),
            CUDA_ERROR_INVALID_VALUE);
}

// An H200's answers.
TEST_F(DriverPointers, OnlyMemoryOfCuMemAllocIsForOtherHardware) {
  CUdeviceptr ordered = 0;
  const CUdeviceptr plain = allocate(kMiB), pinned = address_of(pin(100));
  CALL(cuMemAllocAsync)(&ordered, 100, nullptr);
  for (const CUpointer_attribute name : {CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
                                         CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE}) {
    EXPECT_EQ(ask<int>(name, plain), 1) << int{name};
    EXPECT_EQ(ask<int>(name, pinned), 0) << int{name};
    EXPECT_EQ(ask<int>(name, ordered), 0) << int{name};
  }
}

// lupine#646 (driver 590.48.01).
TEST_F(DriverPointers, ManagedMemoryHasSyncMemopsFromTheStart) {
  CUdeviceptr managed = 0;
  const unsigned on = 1;
  CALL(cuMemAllocManaged)(&managed, 100, CU_MEM_ATTACH_GLOBAL);

  EXPECT_EQ(ask<int>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, managed), 1);
  EXPECT_EQ(CALL(cuPointerSetAttribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, managed),
            CUDA_SUCCESS);
}

// NVIDIA/DALI#3873, nlesc-recruit/cudawrappers#250: a bool would get its neighbours overwritten.
TEST_F(DriverPointers, BooleansAreInts) {
  const CUdeviceptr plain = allocate(1000);

  for (const CUpointer_attribute name :
       {CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_MAPPED,
        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE}) {
    unsigned char bytes[5] = {7, 7, 7, 7, 7};
    EXPECT_EQ(CALL(cuPointerGetAttribute)(bytes, name, plain), CUDA_SUCCESS);
    EXPECT_LE(bytes[0], 1);
    for (int i = 1; i < 4; ++i) EXPECT_EQ(bytes[i], 0);
    EXPECT_EQ(bytes[4], 7);
  }
}

// openucx/ucx#7811 and NVIDIA/cuda-samples#96: attributes are told without a context, ranges are
// not.
TEST_F(DriverPointers, AnswersWithoutAContext) {
  const CUdeviceptr plain = allocate(1000);
  CALL(cuCtxSetCurrent)(nullptr);

  EXPECT_EQ(ask<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, plain), CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(CALL(cuMemGetAddressRange_v2)(nullptr, nullptr, plain), CUDA_ERROR_INVALID_CONTEXT);
}

// ZLUDA pointer.rs:113 on NVIDIA's driver: a stranger is echoed as a host address, its range is
// left alone.
TEST_F(DriverPointers, GivesNullsForStrangers) {
  int local = 0, ordinal = 7;
  unsigned type = 7;
  CUmemoryPool pool = reinterpret_cast<CUmemoryPool>(7);
  CUdeviceptr on_host = 7, on_device = 7, start = 7;
  std::size_t bytes = 7;
  CUpointer_attribute names[] = {
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, CU_POINTER_ATTRIBUTE_HOST_POINTER,
      CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&ordinal, &type, &pool, &on_host, &on_device, &start, &bytes};

  EXPECT_EQ(CALL(cuPointerGetAttributes)(7, names, values, address_of(&local)), CUDA_SUCCESS);

  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(pool, nullptr);
  EXPECT_EQ(on_host, address_of(&local));
  EXPECT_EQ(on_device, 0u);
  EXPECT_EQ(start, 7u);
  EXPECT_EQ(bytes, 7u);
}

// openucx/ucx#10643.
TEST_F(DriverPointers, UnregistersWithoutAContext) {
  static char memory[100];
  CALL(cuMemHostRegister_v2)(memory, sizeof memory, 0);
  CALL(cuCtxSetCurrent)(nullptr);

  EXPECT_EQ(CALL(cuMemHostUnregister)(memory), CUDA_SUCCESS);
}

// Registrations are byte exact, and partial ones are no registration of the whole.
TEST_F(DriverPointers, AnswersInsideRegisteredPartsOnly) {
  static char memory[300];
  CUdeviceptr device = 0;
  unsigned flags = 0;
  const CUdeviceptr target = allocate(300);
  const auto copy = CALL(cuMemcpyHtoD_v2);
  CALL(cuMemHostRegister_v2)(memory, 100, CU_MEMHOSTREGISTER_PORTABLE);
  CALL(cuMemHostRegister_v2)(memory + 100, 100, 0);

  EXPECT_EQ(CALL(cuMemHostGetDevicePointer_v2)(&device, memory + 150, 0), CUDA_SUCCESS);
  EXPECT_EQ(device, address_of(memory + 150));
  EXPECT_EQ(CALL(cuMemHostGetDevicePointer_v2)(&device, memory + 200, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemHostGetFlags)(&flags, memory + 200), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, address_of(memory + 1)), 100u);
  EXPECT_EQ(copy(target, memory + 100, 100), CUDA_SUCCESS);
  EXPECT_EQ(copy(target, memory + 200, 100), CUDA_SUCCESS);
  EXPECT_EQ(copy(target, memory, 150), CUDA_ERROR_INVALID_VALUE);

  CALL(cuMemHostUnregister)(memory);
  CALL(cuMemHostUnregister)(memory + 100);
}

TEST_F(DriverPointers, RegistersOnlyMemoryThatIsThere) {
  constexpr std::size_t kPage = 4096;
  char* pages = static_cast<char*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(pages + kPage, kPage);
  void* pinned = pin(2 * kPage);
  const auto code = CALL(cuMemHostRegister_v2);

  EXPECT_EQ(code(pages, kPage + 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(code(pages, kPage, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(code(pages, kPage, 0), CUDA_SUCCESS);
  EXPECT_EQ(code(pinned, kPage, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(code(reinterpret_cast<void*>(allocate(kPage)), kPage, 0), CUDA_ERROR_INVALID_VALUE);

  CALL(cuMemHostUnregister)(pages);
  munmap(pages, kPage);
}

}  // namespace
}  // namespace vramscope::simulator
