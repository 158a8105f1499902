// Memory and events of one process opened in another by cuIpc*Handle.
// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/syscall.h>
#include <csignal>

#include "test/simulator/tests/process_fixture.h"

namespace vramscope::simulator {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr unsigned kLazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr pointer = 0;
  return CALL(cuMemAlloc_v2)(&pointer, bytes) == CUDA_SUCCESS ? pointer : 0;
}

CUipcMemHandle handle_of(CUdeviceptr pointer) {
  CUipcMemHandle handle = {};
  CALL(cuIpcGetMemHandle)(&handle, pointer);
  return handle;
}

CUresult open(CUdeviceptr* pointer, const CUipcMemHandle& handle) {
  return CALL(cuIpcOpenMemHandle_v2)(pointer, handle, kLazy);
}

bool same(const CUipcMemHandle& one, const CUipcMemHandle& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}

// What the exporter does, and what the importer does.
void expect_success(const Body& exporter, const Body& importer) {
  TwoProcesses("", exporter, importer).expect_success();
}

// The exporter of tests that are about the importer.
int share_a_mebibyte(const Peer& importer) {
  importer.send(handle_of(allocate(kMiB)));
  importer.await();
  return 0;
}

TEST(DriverIpc, ShowsBothProcessesTheSameBytes) {
  expect_success(
      [](const Peer& importer) {
        const CUdeviceptr memory = allocate(3 * kMiB);
        REQUIRE(put(memory + 3 * kMiB - 8, 111L) == CUDA_SUCCESS);
        importer.send(handle_of(memory + 4096));  // an interior pointer: still the allocation
        importer.await();
        REQUIRE(get<long>(memory) == 222);
        return 0;
      },
      [](const Peer& exporter) {
        CUdeviceptr memory = 0;
        REQUIRE(open(&memory, exporter.receive<CUipcMemHandle>()) == CUDA_SUCCESS);
        REQUIRE(get<long>(memory + 3 * kMiB - 8) == 111);
        REQUIRE(put(memory, 222L) == CUDA_SUCCESS);
        exporter.signal();
        return 0;
      });
}

TEST(DriverIpc, OpensSmallAllocationsAtTheirStart) {
  expect_success(
      [](const Peer& importer) {
        const CUdeviceptr neighbour = allocate(100);
        const CUdeviceptr memory = allocate(100);
        REQUIRE(memory == neighbour + 512);
        REQUIRE(put(neighbour, 1) == CUDA_SUCCESS && put(memory, 2) == CUDA_SUCCESS);
        importer.send(handle_of(memory));
        importer.await();
        return 0;
      },
      [](const Peer& exporter) {
        CUdeviceptr memory = 0, start = 0;
        std::size_t bytes = 0;
        REQUIRE(open(&memory, exporter.receive<CUipcMemHandle>()) == CUDA_SUCCESS);
        REQUIRE(CALL(cuMemGetAddressRange_v2)(&start, &bytes, memory + 50) == CUDA_SUCCESS);
        REQUIRE(start == memory && bytes == 100);
        REQUIRE(get<int>(memory) == 2);
        exporter.signal();
        return 0;
      });
}

TEST(DriverIpc, CountsHowOftenAnImportIsOpen) {
  expect_success(share_a_mebibyte, [](const Peer& exporter) {
    const auto handle = exporter.receive<CUipcMemHandle>();
    CUdeviceptr first = 0, second = 0;
    REQUIRE(open(&first, handle) == CUDA_SUCCESS);
    REQUIRE(CALL(cuIpcOpenMemHandle)(&second, handle, kLazy) == CUDA_SUCCESS);
    REQUIRE(first == second);
    REQUIRE(CALL(cuIpcCloseMemHandle)(first + 512) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(CALL(cuIpcCloseMemHandle)(first) == CUDA_SUCCESS);
    REQUIRE(put(first, 1) == CUDA_SUCCESS);
    REQUIRE(CALL(cuIpcCloseMemHandle)(first) == CUDA_SUCCESS);
    REQUIRE(put(first, 1) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(CALL(cuIpcCloseMemHandle)(first) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(open(&first, handle) == CUDA_SUCCESS);
    exporter.signal();
    return 0;
  });
}

TEST(DriverIpc, LeavesImportsOutOfOtherCalls) {
  expect_success(share_a_mebibyte, [](const Peer& exporter) {
    CUdeviceptr memory = 0;
    CUipcMemHandle again = {};
    int capable = 1;
    std::size_t before = 0, after = 0;
    const auto handle = exporter.receive<CUipcMemHandle>();
    CALL(cuMemGetInfo_v2)(&before, nullptr);
    REQUIRE(open(&memory, handle) == CUDA_SUCCESS);
    CALL(cuMemGetInfo_v2)(&after, nullptr);
    REQUIRE(before == after);  // the exporter holds it
    REQUIRE(CALL(cuMemFree_v2)(memory) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(CALL(cuMemFreeAsync)(memory, nullptr) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(CALL(cuIpcGetMemHandle)(&again, memory) == CUDA_ERROR_INVALID_VALUE);
    capable = 0xff;
    CALL(cuPointerGetAttribute)
    (&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory);
    REQUIRE((capable & 0xff) == 0);
    exporter.signal();
    return 0;
  });
}

TEST(DriverIpc, RefusesBadHandlesAndItsOwn) {
  expect_success(
      [](const Peer&) {
        const CUipcMemHandle own = handle_of(allocate(kMiB));
        CUdeviceptr opened = 7;
        REQUIRE(open(&opened, own) == CUDA_ERROR_INVALID_CONTEXT);
        REQUIRE(open(&opened, CUipcMemHandle{}) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(CALL(cuIpcOpenMemHandle_v2)(&opened, own, 0) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(open(nullptr, own) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(opened == 7);
        return 0;
      },
      [](const Peer&) {
        CUipcMemHandle handle = {};
        CUdeviceptr managed = 0, ordered = 0;
        CALL(cuMemAllocManaged)(&managed, kMiB, CU_MEM_ATTACH_GLOBAL);
        CALL(cuMemAllocAsync)(&ordered, kMiB, nullptr);
        REQUIRE(CALL(cuIpcGetMemHandle)(&handle, managed) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(CALL(cuIpcGetMemHandle)(&handle, ordered) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(CALL(cuIpcGetMemHandle)(&handle, 4096) == CUDA_ERROR_INVALID_VALUE);
        return 0;
      });
}

TEST(DriverIpc, GivesNewMemoryANewHandle) {
  expect_success(
      [](const Peer& importer) {
        const CUdeviceptr memory = allocate(2 * kMiB);
        const CUipcMemHandle old = handle_of(memory);
        REQUIRE(same(old, handle_of(memory)));
        CALL(cuMemFree_v2)(memory);
        REQUIRE(allocate(2 * kMiB) == memory);
        const CUipcMemHandle young = handle_of(memory);
        REQUIRE(!same(old, young));
        importer.send(old);
        importer.send(young);
        importer.await();
        return 0;
      },
      [](const Peer& exporter) {
        CUdeviceptr opened = 0;
        REQUIRE(open(&opened, exporter.receive<CUipcMemHandle>()) == CUDA_ERROR_INVALID_VALUE);
        REQUIRE(open(&opened, exporter.receive<CUipcMemHandle>()) == CUDA_SUCCESS);
        exporter.signal();
        return 0;
      });
}

// The importer keeps what it opened; the exporter's next memory at the same address is other
// memory, larger memory across old and new pages included.
TEST(DriverIpc, KeepsTheBytesOfFreedMemoryForTheImporter) {
  expect_success(
      [](const Peer& importer) {
        const CUdeviceptr memory = allocate(2 * kMiB);
        REQUIRE(put(memory, 1) == CUDA_SUCCESS);
        importer.send(handle_of(memory));
        importer.await();
        CALL(cuMemFree_v2)(memory);
        REQUIRE(allocate(4 * kMiB) == memory);
        REQUIRE(get<int>(memory) == 0);
        REQUIRE(put(memory, 2) == CUDA_SUCCESS && put(memory + 3 * kMiB, 3) == CUDA_SUCCESS);
        importer.send(handle_of(memory));
        importer.await();
        return 0;
      },
      [](const Peer& exporter) {
        CUdeviceptr old = 0, young = 0;
        REQUIRE(open(&old, exporter.receive<CUipcMemHandle>()) == CUDA_SUCCESS);
        exporter.signal();
        REQUIRE(open(&young, exporter.receive<CUipcMemHandle>()) == CUDA_SUCCESS);
        REQUIRE(get<int>(old) == 1);
        REQUIRE(get<int>(young) == 2);
        REQUIRE(get<int>(young + 3 * kMiB) == 3);
        REQUIRE(CALL(cuIpcCloseMemHandle)(old) == CUDA_SUCCESS);
        REQUIRE(get<int>(young) == 2);
        exporter.signal();
        return 0;
      });
}

std::size_t free_bytes() {
  std::size_t free = 0;
  CALL(cuMemGetInfo_v2)(&free, nullptr);
  return free;
}

// The kernel's driver counts the references to a piece of memory (open-gpu-kernel-modules
// mem.c:1030), and a process that is killed lets go of its own.
TEST(DriverIpc, LeavesFreedMemoryUsedUntilTheImporterLetsGo) {
  const auto exporter = [](const Peer& importer) {
    const std::size_t before = free_bytes();
    const CUdeviceptr memory = allocate(3 * kMiB);
    importer.send(handle_of(memory));
    importer.await();
    REQUIRE(CALL(cuMemFree_v2)(memory) == CUDA_SUCCESS);
    REQUIRE(free_bytes() == before - 4 * kMiB);  // in pages of 2 MiB
    importer.signal();
    while (free_bytes() != before) usleep(1000);  // a process that ends tells nobody when
    return 0;
  };
  for (const bool is_killed : {false, true}) {
    const TwoProcesses both("", exporter, [is_killed](const Peer& other) {
      CUdeviceptr memory = 0;
      REQUIRE(open(&memory, other.receive<CUipcMemHandle>()) == CUDA_SUCCESS);
      other.signal();
      other.await();
      if (is_killed) kill(getpid(), SIGKILL);
      REQUIRE(CALL(cuIpcCloseMemHandle)(memory) == CUDA_SUCCESS);
      return 0;
    });
    EXPECT_EQ(result_of_process(both.first), 0);
    EXPECT_EQ(result_of_process(both.second), is_killed ? -SIGKILL : 0);
  }
}

TEST(DriverIpc, OutlivesTheExporter) {
  expect_success(
      [](const Peer& importer) {
        const CUdeviceptr memory = allocate(kMiB);
        REQUIRE(put(memory, 42) == CUDA_SUCCESS);
        importer.send(getpid());
        importer.send(handle_of(memory));
        importer.await();
        return 0;
      },
      [](const Peer& exporter) {
        const auto process = exporter.receive<pid_t>();
        const auto handle = exporter.receive<CUipcMemHandle>();
        CUdeviceptr memory = 0;
        REQUIRE(open(&memory, handle) == CUDA_SUCCESS);
        pollfd end = {static_cast<int>(syscall(SYS_pidfd_open, process, 0)), POLLIN, 0};
        exporter.signal();
        REQUIRE(poll(&end, 1, -1) == 1);
        REQUIRE(get<int>(memory) == 42);
        REQUIRE(CALL(cuIpcCloseMemHandle)(memory) == CUDA_SUCCESS);
        REQUIRE(open(&memory, handle) == CUDA_ERROR_MAP_FAILED);
        return 0;
      });
}

TEST(DriverIpc, EndsImportsWithTheirContext) {
  expect_success(share_a_mebibyte, [](const Peer& exporter) {
    const auto handle = exporter.receive<CUipcMemHandle>();
    CUdeviceptr memory = 0, second = 0;
    CUcontext other = nullptr;
    REQUIRE(open(&memory, handle) == CUDA_SUCCESS);
    CALL(cuCtxCreate_v2)(&other, 0, 0);
    REQUIRE(open(&second, handle) ==
            CUDA_ERROR_INVALID_HANDLE);  // hip-tests hipIpcOpenMemHandle.cc
    CALL(cuCtxDestroy_v2)(other);
    CALL(cuDevicePrimaryCtxReset_v2)(0);
    REQUIRE(start_driver() == CUDA_SUCCESS);
    REQUIRE(CALL(cuIpcCloseMemHandle)(memory) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(open(&memory, handle) == CUDA_SUCCESS);
    exporter.signal();
    return 0;
  });
}

CUevent make_event(unsigned flags) {
  CUevent event = nullptr;
  CALL(cuEventCreate)(&event, flags);
  return event;
}

constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

TEST(DriverIpcEvents, TellTheOtherProcessWhenAStreamGotThere) {
  expect_success(
      [](const Peer& importer) {
        CUstream stream = nullptr;
        CUipcEventHandle handle = {};
        Gate gate;
        const CUevent event = make_event(kShared);
        REQUIRE(CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(CALL(cuIpcGetEventHandle)(&handle, event) == CUDA_SUCCESS);
        importer.send(handle);
        importer.await();  // has opened it
        gate.hold(stream);
        REQUIRE(CALL(cuEventRecord)(event, stream) == CUDA_SUCCESS);
        REQUIRE(CALL(cuEventQuery)(event) == CUDA_ERROR_NOT_READY);
        importer.signal();
        importer.await();  // saw that it is not reached
        gate.open();
        REQUIRE(CALL(cuEventSynchronize)(event) == CUDA_SUCCESS);
        importer.await();  // waited for it
        return 0;
      },
      [](const Peer& exporter) {
        CUevent event = nullptr;
        const auto handle = exporter.receive<CUipcEventHandle>();
        REQUIRE(CALL(cuIpcOpenEventHandle)(&event, handle) == CUDA_SUCCESS);
        REQUIRE(CALL(cuEventQuery)(event) == CUDA_SUCCESS);  // nothing recorded
        exporter.signal();
        exporter.await();
        REQUIRE(CALL(cuEventQuery)(event) == CUDA_ERROR_NOT_READY);
        REQUIRE(CALL(cuStreamWaitEvent)(nullptr, event, 0) == CUDA_SUCCESS);
        REQUIRE(CALL(cuStreamQuery)(nullptr) == CUDA_ERROR_NOT_READY);
        exporter.signal();
        REQUIRE(CALL(cuStreamSynchronize)(nullptr) == CUDA_SUCCESS);
        REQUIRE(CALL(cuEventSynchronize)(event) == CUDA_SUCCESS);
        REQUIRE(CALL(cuEventDestroy_v2)(event) == CUDA_SUCCESS);
        exporter.signal();
        return 0;
      });
}

TEST(DriverIpcEvents, AreMadeForItAndOpenedElsewhere) {
  expect_success(
      [](const Peer& importer) {
        CUipcEventHandle handle = {};
        CUevent opened = nullptr;
        REQUIRE(CALL(cuIpcGetEventHandle)(&handle, make_event(CU_EVENT_DISABLE_TIMING)) ==
                CUDA_ERROR_INVALID_HANDLE);
        REQUIRE(CALL(cuIpcOpenEventHandle)(&opened, handle) == CUDA_ERROR_INVALID_VALUE);
        const CUevent event = make_event(kShared);
        REQUIRE(CALL(cuIpcGetEventHandle)(&handle, event) == CUDA_SUCCESS);
        REQUIRE(CALL(cuIpcOpenEventHandle)(&opened, handle) == CUDA_ERROR_INVALID_CONTEXT);
        REQUIRE(CALL(cuEventDestroy_v2)(event) == CUDA_SUCCESS);
        importer.send(handle);
        importer.await();
        return 0;
      },
      [](const Peer& exporter) {
        CUevent event = nullptr;
        const auto handle = exporter.receive<CUipcEventHandle>();
        REQUIRE(CALL(cuIpcOpenEventHandle)(&event, handle) == CUDA_ERROR_MAP_FAILED);
        exporter.signal();
        return 0;
      });
}

}  // namespace
}  // namespace vramscope::simulator
