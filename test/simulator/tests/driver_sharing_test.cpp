// Physical memory sent to another process as a file descriptor.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/tests/process_fixture.h"

namespace vramscope::simulator {
namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;
constexpr auto kPosix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
using Handle = CUmemGenericAllocationHandle;

Handle create(int device = 0) {
  Handle handle = 0;
  CUmemAllocationProp wanted = {};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = kPosix;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  CALL(cuMemCreate)(&handle, kBytes, &wanted, 0);
  return handle;
}

// Mapped, with access; the handle is released.
CUdeviceptr map(Handle handle) {
  CUdeviceptr start = 0;
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CALL(cuMemAddressReserve)(&start, kBytes, 0, 0, 0);
  CALL(cuMemMap)(start, kBytes, 0, handle, 0);
  CALL(cuMemRelease)(handle);
  return CALL(cuMemSetAccess)(start, kBytes, &access, 1) == CUDA_SUCCESS ? start : 0;
}

std::size_t free_bytes() {
  std::size_t free = 0;
  CALL(cuMemGetInfo_v2)(&free, nullptr);
  return free;
}

Handle import(int file) {
  Handle handle = 0;
  CALL(cuMemImportFromShareableHandle)
  (&handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)), kPosix);
  return handle;
}

TEST(DriverSharing, SendsMemoryAsADescriptor) {
  const TwoProcesses both(
      "",
      [](const Peer& importer) {
        int file = -1;
        const Handle handle = create();
        REQUIRE(CALL(cuMemExportToShareableHandle)(&file, handle, kPosix, 0) == CUDA_SUCCESS);
        const CUdeviceptr memory = map(handle);
        REQUIRE(memory != 0);
        REQUIRE(put(memory + kBytes - 4, 11) == CUDA_SUCCESS);
        importer.send_file(file);
        close(file);
        importer.await();
        REQUIRE(get<int>(memory) == 22);
        return 0;
      },
      [](const Peer& exporter) {
        const int file = exporter.receive_file();
        const Handle handle = import(file);
        close(file);
        REQUIRE(handle != 0);
        const CUdeviceptr memory = map(handle);
        REQUIRE(get<int>(memory + kBytes - 4) == 11);
        REQUIRE(put(memory, 22) == CUDA_SUCCESS);
        exporter.signal();
        return 0;
      });

  both.expect_success();
}

TEST(DriverSharing, KeepsMemoryThatTheExporterGaveUp) {
  const TwoProcesses both(
      "",
      [](const Peer& importer) {
        int file = -1;
        std::size_t before = 0, after = 0;
        CALL(cuMemGetInfo_v2)(&before, nullptr);
        const Handle handle = create();
        REQUIRE(CALL(cuMemExportToShareableHandle)(&file, handle, kPosix, 0) == CUDA_SUCCESS);
        const CUdeviceptr memory = map(handle);
        REQUIRE(put(memory, 33) == CUDA_SUCCESS);
        importer.send_file(file);
        close(file);
        REQUIRE(CALL(cuMemUnmap)(memory, kBytes) == CUDA_SUCCESS);
        CALL(cuMemGetInfo_v2)(&after, nullptr);
        REQUIRE(after == before);
        importer.signal();
        return 0;
      },
      [](const Peer& exporter) {
        const int file = exporter.receive_file();
        exporter.await();
        const CUdeviceptr memory = map(import(file));
        REQUIRE(get<int>(memory) == 33);
        return 0;
      });

  both.expect_success();
}

// As nvidia-smi showed it step by step (openucx/ucx#11753): only the importer's exit freed it.
TEST(DriverSharing, LeavesMemoryUsedUntilTheImporterLetsGo) {
  const TwoProcesses both(
      "",
      [](const Peer& importer) {
        int file = -1;
        const std::size_t before = free_bytes();
        const Handle handle = create();
        REQUIRE(CALL(cuMemExportToShareableHandle)(&file, handle, kPosix, 0) == CUDA_SUCCESS);
        importer.send_file(file);
        close(file);
        importer.await();
        REQUIRE(CALL(cuMemRelease)(handle) == CUDA_SUCCESS);
        REQUIRE(free_bytes() == before - kBytes);
        importer.signal();
        while (free_bytes() != before) usleep(1000);  // a process that ends tells nobody when
        return 0;
      },
      [](const Peer& exporter) {
        const int file = exporter.receive_file();
        const CUdeviceptr memory = map(import(file));
        close(file);
        REQUIRE(memory != 0);
        exporter.signal();
        exporter.await();
        return 0;
      });

  both.expect_success();
}

TEST(DriverSharing, GivesAccessDeviceByDevice) {
  const TwoProcesses both(
      "devices=2",
      [](const Peer& importer) {
        int file = -1, value = 0;
        CUcontext second = nullptr;
        unsigned long long flags = 99;
        const CUmemLocation there = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
        const Handle handle = create(1);
        REQUIRE(CALL(cuMemExportToShareableHandle)(&file, handle, kPosix, 0) == CUDA_SUCCESS);
        importer.send_file(file);
        const CUdeviceptr memory = map(handle);  // for the first device
        REQUIRE(put(memory, 5) == CUDA_SUCCESS);
        REQUIRE(CALL(cuMemGetAccess)(&flags, &there, memory) == CUDA_SUCCESS);
        REQUIRE(flags == 0);
        CALL(cuCtxCreate_v2)(&second, 0, 1);
        REQUIRE(CALL(cuMemcpyDtoH_v2)(&value, memory, 4) == CUDA_ERROR_INVALID_VALUE);
        const CUmemAccessDesc access = {there, CU_MEM_ACCESS_FLAGS_PROT_READ};
        REQUIRE(CALL(cuMemSetAccess)(memory, kBytes, &access, 1) == CUDA_SUCCESS);
        REQUIRE(get<int>(memory) == 5);
        importer.signal();
        return 0;
      },
      [](const Peer& exporter) {
        int ordinal = -1;
        std::size_t before = 0, after = 0;
        CALL(cuMemGetInfo_v2)(&before, nullptr);
        const int file = exporter.receive_file();
        exporter.await();
        const CUdeviceptr memory = map(import(file));
        CALL(cuMemGetInfo_v2)(&after, nullptr);
        REQUIRE(before == after);
        REQUIRE(CALL(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                            memory) == CUDA_SUCCESS);
        REQUIRE(ordinal == 1);
        REQUIRE(get<int>(memory) == 5);
        return 0;
      });

  both.expect_success();
}

}  // namespace
}  // namespace vramscope::simulator
