// Measures how much of the stack each kind of call takes: the stack below the caller is filled with
// a pattern, the call is made, and what lies below the last changed byte was not used.
// SPDX-License-Identifier: Apache-2.0
//
// stack_marks: prints "<call> <bytes>" for each, on a thread whose stack is known.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>

#include "test/programs/driver.h"

namespace {

constexpr std::size_t kStackBytes = 512 << 10;
constexpr std::size_t kGap = 256;  // for the frames of who fills and looks
constexpr unsigned char kPattern = 0xa5;

struct OwnStack {
  unsigned char* begin = nullptr;
};
thread_local OwnStack own;

__attribute__((noinline)) void fill(const unsigned char* end) {
  std::memset(own.begin, kPattern, static_cast<std::size_t>(end - kGap - own.begin));
}

__attribute__((noinline)) std::size_t used_below(const unsigned char* end) {
  const unsigned char* lowest = own.begin;
  while (lowest < end && *lowest == kPattern) ++lowest;
  return static_cast<std::size_t>(end - lowest);
}

template <class Call>
__attribute__((noinline)) void measure(const char* name, Call call) {
  const auto* const here = static_cast<const unsigned char*>(__builtin_frame_address(0));
  fill(here);
  call();
  std::printf("%s %zu\n", name, used_below(here));
}

// The pattern would be overwritten by what prints the last line; so all frames start at one place.
struct Memory {
  CUdeviceptr block = 0, large = 0, ordered = 0, managed = 0, reserved = 0;
  void* pinned = nullptr;
  void* own_pages = nullptr;
  std::size_t some = 0, other = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
};

void measure_allocations(Memory& m, const char* const (&names)[8]) {
  measure(names[0], [&] { MUST(cuMemAlloc(&m.block, 4096)); });
  measure(names[1], [&] { MUST(cuMemFree(m.block)); });
  measure(names[2], [&] { MUST(cuMemAlloc(&m.large, 64 * kMiB)); });
  measure(names[3], [&] { MUST(cuMemFree(m.large)); });
  measure(names[4], [&] { MUST(cuMemHostAlloc(&m.pinned, kMiB, 0)); });
  measure(names[5], [&] { MUST(cuMemFreeHost(m.pinned)); });
  measure(names[6], [&] { MUST(cuMemAllocAsync(&m.ordered, kMiB, nullptr)); });
  measure(names[7], [&] { MUST(cuMemFreeAsync(m.ordered, nullptr)); });
}

void measure_other_memory(Memory& m) {
  m.own_pages = std::aligned_alloc(4096, kMiB);
  measure("register", [&] { MUST(cuMemHostRegister(m.own_pages, kMiB, 0)); });
  measure("unregister", [&] { MUST(cuMemHostUnregister(m.own_pages)); });
  measure("managed", [&] { MUST(cuMemAllocManaged(&m.managed, kMiB, CU_MEM_ATTACH_GLOBAL)); });
  measure("free-managed", [&] { MUST(cuMemFree(m.managed)); });
  measure("info", [&] { MUST(cuMemGetInfo(&m.some, &m.other)); });
  measure("too-much", [&] { (void)cuMemAlloc(&m.large, std::size_t{1} << 50); });
  measure("wrong-free", [&] { (void)cuMemFree(12345); });
  MUST(cuMemAlloc(&m.block, kMiB));
  measure("range", [&] { MUST(cuMemGetAddressRange(&m.large, &m.some, m.block)); });
  measure("attribute", [&] {
    CUcontext owner = nullptr;
    MUST(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, m.block));
  });
  measure("export", [&] {
    CUipcMemHandle handle;
    (void)cuIpcGetMemHandle(&handle, m.block);
  });
  MUST(cuMemFree(m.block));
}

void measure_virtual_memory(Memory& m) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  constexpr std::size_t kBytes = 2 * kMiB;
  measure("create", [&] { MUST(cuMemCreate(&m.handle, kBytes, &wanted, 0)); });
  measure("reserve", [&] { MUST(cuMemAddressReserve(&m.reserved, kBytes, 0, 0, 0)); });
  measure("map", [&] { MUST(cuMemMap(m.reserved, kBytes, 0, m.handle, 0)); });
  measure("unmap", [&] { MUST(cuMemUnmap(m.reserved, kBytes)); });
  measure("release", [&] { MUST(cuMemRelease(m.handle)); });
  measure("unreserve", [&] { MUST(cuMemAddressFree(m.reserved, kBytes)); });
}

void measure_work(Memory& m) {
  measure("stream", [&] { MUST(cuStreamCreate(&m.stream, CU_STREAM_NON_BLOCKING)); });
  measure("begin-capture",
          [&] { MUST(cuStreamBeginCapture(m.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)); });
  measure("captured", [&] { MUST(cuMemAllocAsync(&m.ordered, kMiB, m.stream)); });
  measure("captured-free", [&] { MUST(cuMemFreeAsync(m.ordered, m.stream)); });
  measure("end-capture", [&] { MUST(cuStreamEndCapture(m.stream, &m.graph)); });
  measure("instantiate", [&] { MUST(cuGraphInstantiate(&m.executable, m.graph, 0)); });
  measure("launch", [&] { MUST(cuGraphLaunch(m.executable, m.stream)); });
  measure("synchronize", [&] { MUST(cuStreamSynchronize(m.stream)); });
  measure("end-executable", [&] { MUST(cuGraphExecDestroy(m.executable)); });
  measure("end-graph", [&] { MUST(cuGraphDestroy(m.graph)); });
  measure("end-stream", [&] { MUST(cuStreamDestroy(m.stream)); });
  measure("signal", [&] { raise(SIGUSR1); });
  measure("fork", [&] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  });
}

void measure_lookups() {
  void* found = nullptr;
  measure("lookup", [&] { found = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"); });
  measure("address", [&] {
#if CUDA_VERSION >= 12000
    MUST(cuGetProcAddress("cuMemAlloc", &found, CUDA_VERSION, 0, nullptr));
#else
    MUST(cuGetProcAddress("cuMemAlloc", &found, CUDA_VERSION, 0));
#endif
  });
}

void measure_start() {
  CUcontext context = nullptr;
  CUdevice device = 0;
  measure_lookups();
  measure("init", [&] { MUST(cuInit(0)); });
  measure("device", [&] { MUST(cuDeviceGet(&device, 0)); });
  measure("retain", [&] { MUST(cuDevicePrimaryCtxRetain(&context, device)); });
  measure("current", [&] { MUST(cuCtxSetCurrent(context)); });
}

void* run_first(void*) {
  Memory memory;
  measure_start();
  measure_allocations(memory, {"first-allocate", "first-free", "first-large", "first-free-large",
                               "first-pin", "first-unpin", "first-ordered", "first-free-ordered"});
  measure_allocations(memory, {"allocate", "free", "large", "free-large", "pin", "unpin", "ordered",
                               "free-ordered"});
  measure_other_memory(memory);
  measure_virtual_memory(memory);
  measure_work(memory);
  return nullptr;
}

// The first calls of a thread in a process that has called before.
void* run_second(void*) {
  Memory memory;
  CUcontext context = nullptr;
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  measure("thread-current", [&] { MUST(cuCtxSetCurrent(context)); });
  measure_allocations(
      memory, {"thread-allocate", "thread-free", "thread-large", "thread-free-large", "thread-pin",
               "thread-unpin", "thread-ordered", "thread-free-ordered"});
  measure("reset", [&] { MUST(cuDevicePrimaryCtxReset(0)); });
  return nullptr;
}

void run(void* (*function)(void*)) {
  void* const stack =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct Start {
    void* (*function)(void*);
    unsigned char* begin;
  } start{function, static_cast<unsigned char*>(stack)};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kStackBytes);
  pthread_t thread;
  const auto begin = [](void* argument) -> void* {
    const Start from = *static_cast<Start*>(argument);
    own.begin = from.begin;
    return from.function(nullptr);
  };
  if (pthread_create(&thread, &attributes, begin, &start) != 0) std::exit(3);
  pthread_join(thread, nullptr);
}

}  // namespace

int main() {
  std::signal(SIGUSR1, [](int) {});
  std::printf("a line, so that nothing of printf is new\n");
  run(run_first);
  run(run_second);
}
