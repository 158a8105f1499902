// Life of the driver: before initialisation, under faults, after fork, at exit. Each test has a
// process of its own, because a process has one driver and it lives once.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "test/simulator/tests/driver_fixture.h"

namespace vramscope::simulator {
namespace {

// Runs the body in a child that has not touched the driver; its result is the exit status.
int in_process(const char* settings, const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("VRAMSCOPE_SIM", settings, 1);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

CUresult start() {
  CUcontext context = nullptr;
  CALL(cuInit)(0);
  CALL(cuDevicePrimaryCtxRetain)(&context, 0);
  return CALL(cuCtxSetCurrent)(context);
}

CUresult allocate(CUdeviceptr* pointer) { return CALL(cuMemAlloc_v2)(pointer, 100); }

TEST(DriverLife, RefusesCallsBeforeInitialisation) {
  EXPECT_EQ(in_process("",
                       [] {
                         CUdeviceptr pointer = 0;
                         return int{allocate(&pointer)};
                       }),
            int{CUDA_ERROR_NOT_INITIALIZED});
}

TEST(DriverLife, FailsTheAllocationThatWasAskedFor) {
  EXPECT_EQ(in_process("fail_alloc=2",
                       [] {
                         CUdeviceptr pointer = 0;
                         start();
                         const bool first = allocate(&pointer) == CUDA_SUCCESS;
                         const bool second = allocate(&pointer) == CUDA_ERROR_OUT_OF_MEMORY;
                         const bool third = allocate(&pointer) == CUDA_SUCCESS;
                         return first && second && third ? 0 : 1;
                       }),
            0);
}

TEST(DriverLife, AnswersTheStickyErrorFromThenOn) {
  EXPECT_EQ(in_process("sticky=1:70",
                       [] {
                         CUdeviceptr pointer = 0;
                         start();
                         if (allocate(&pointer) != CUDA_SUCCESS) return 1;
                         if (int{CALL(cuMemFree_v2)(pointer)} != 70) return 2;
                         if (int{CALL(cuStreamSynchronize)(nullptr)} != 70) return 3;
                         CUcontext again = nullptr;
                         if (int{CALL(cuDevicePrimaryCtxRetain)(&again, 0)} != 70) return 4;
                         return int{CALL(cuCtxSynchronize)()};
                       }),
            70);
}

TEST(DriverLife, HasAsManyDevicesAndAsMuchMemoryAsAskedFor) {
  EXPECT_EQ(in_process("devices=3,capacity=64MiB,context_bytes=0",
                       [] {
                         int count = 0;
                         std::size_t bytes = 0;
                         start();
                         CALL(cuDeviceGetCount)(&count);
                         CALL(cuDeviceTotalMem_v2)(&bytes, 2);
                         return bytes == std::size_t{64} << 20 ? count : 99;
                       }),
            3);
}

TEST(DriverLife, PretendsToBeAnOlderDriver) {
  EXPECT_EQ(in_process("driver_version=12000",
                       [] {
                         int version = 0;
                         void* found = nullptr;
                         CALL(cuDriverGetVersion)(&version);
                         CALL(cuGetProcAddress_v2)("cuInit", &found, 12010, 0, nullptr);
                         const bool answers = found != nullptr;
                         CALL(cuGetProcAddress)("cuGraphAddNode", &found, 13000, 0);
                         return version == 12000 && answers && found == nullptr ? 0 : 1;
                       }),
            0);
}

// An H200's answer, as cuda.h says; older drivers give what they have.
TEST(DriverLife, RefusesLookupsForVersionsAboveItsOwn) {
  const auto ask = [](const char* settings, int version) {
    return in_process(settings, [version] {
      void* found = nullptr;
      return int{CALL(cuGetProcAddress_v2)("cuMemAlloc", &found, version, 0, nullptr)};
    });
  };
  EXPECT_EQ(ask("driver_version=13000", 13000), int{CUDA_SUCCESS});
  EXPECT_EQ(ask("driver_version=13000", 13010), int{CUDA_ERROR_INVALID_VALUE});
  EXPECT_EQ(ask("driver_version=12050", 13000), int{CUDA_SUCCESS});
}

TEST(DriverLife, AForkedChildHasNoDriver) {
  EXPECT_EQ(in_process("",
                       [] {
                         CUdeviceptr pointer = 0;
                         start();
                         CALL(cuMemAllocAsync)(&pointer, 100, nullptr);
                         const pid_t child = fork();
                         if (child == 0) std::exit(int{allocate(&pointer)});  // must not hang
                         int status = 0;
                         waitpid(child, &status, 0);
                         return WEXITSTATUS(status);
                       }),
            int{CUDA_ERROR_NOT_INITIALIZED});
}

// Exit handlers run last in, first out: this one was there before the driver's.
CUdeviceptr survivor = 0;
void free_late() { _exit(int{CALL(cuMemFree_v2)(survivor)}); }

TEST(DriverLife, ShutsDownBeforeEarlierExitHandlers) {
  EXPECT_EQ(in_process("",
                       []() -> int {
                         std::atexit(free_late);
                         start();
                         allocate(&survivor);
                         std::exit(99);
                       }),
            int{CUDA_ERROR_DEINITIALIZED});
}

TEST(DriverLife, EndsAProgramThatAsksForExportTables) {
  EXPECT_EQ(in_process("",
                       [] {
                         const void* table = nullptr;
                         const CUuuid uuid = {};
                         dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
                         CALL(cuGetExportTable)(&table, &uuid);
                         return 0;
                       }),
            125);
}

// Its own calls fail then; the program may do without it.
TEST(DriverLife, LetsALibraryThatAsksForExportTablesFailAlone) {
  EXPECT_EQ(in_process("",
                       [] {
                         void* const asking = dlopen(ASKING_LIBRARY, RTLD_NOW);
                         if (asking == nullptr) return 1;
                         using Ask = int (*)(decltype(&::cuGetExportTable));
                         const auto ask = reinterpret_cast<Ask>(dlsym(asking, "ask_for_a_table"));
                         return ask(CALL(cuGetExportTable)) == CUDA_ERROR_NOT_SUPPORTED ? 42 : 2;
                       }),
            42);
}

}  // namespace
}  // namespace vramscope::simulator
