// A malloc of the program's own that frees device memory, as one that runs out of memory may do,
// while Vramscope is asked by the program or writes a report; and one that sets errno in its calls.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "interpose/face/vramscope.h"
#include "test/programs/driver.h"
#include "test/programs/in_vain.h"

static constexpr int kBlocks = 60;
static CUdeviceptr blocks[kBlocks];
static std::atomic<int> next{0}, failures{0};
static std::atomic<int> armed_until{0};  // that block
static CUcontext context;
static thread_local bool inside = false;
static thread_local bool sets_errno = false;

// The thread may be Vramscope's own, which has no context.
static void free_one() {
  MUST(cuCtxPushCurrent(context));
  if (cuMemFree(blocks[next]) != CUDA_SUCCESS) failures = failures + 1;
  MUST(cuCtxPopCurrent(nullptr));
  next = next + 1;
}

static bool is_vramscope(void* address) {
  Dl_info caller;
  return dladdr(address, &caller) != 0 && std::strstr(caller.dli_fname, "libvramscope") != nullptr;
}

extern "C" void* __libc_malloc(std::size_t);
extern "C" __attribute__((visibility("default"))) void* malloc(std::size_t bytes) {
  if ((next < armed_until || sets_errno) && !inside) {
    inside = true;
    if (is_vramscope(__builtin_return_address(0))) {
      if (next < armed_until) free_one();
      if (sets_errno) errno = 88;
    }
    inside = false;
  }
  return __libc_malloc(bytes);
}

// Ends of captures: what is remembered of their graphs takes memory after the driver has answered.
static int errno_after_calls() {
  CUstream streams[8] = {};
  CUgraph graphs[8] = {};
  for (CUstream& stream : streams) {
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  }
  sets_errno = true;
  errno = 77;
  for (int i = 0; i < 8; ++i) MUST(cuStreamEndCapture(streams[i], &graphs[i]));
  const int kept = errno;
  sets_errno = false;
  for (CUgraph graph : graphs) MUST(cuGraphDestroy(graph));
  for (CUstream stream : streams) MUST(cuStreamDestroy(stream));
  return kept;
}

static void none(const char*, int64_t, void*) {}
static void no_segment(const vramscope_segment*, void*) {}

int main(int argc, char**) {
  context = start();
  const std::size_t before = unused_bytes();
  for (CUdeviceptr& block : blocks) block = allocate(1000);
  int64_t value = 0;
  uint64_t free_bytes = 0, total_bytes = 0;
  armed_until = kBlocks / 2;
  errno = 77;
  vramscope_memory_stats(0, none, nullptr);
  vramscope_memory_stat(0, "num_ooms", &value);
  vramscope_host_memory_stats(none, nullptr);
  vramscope_memory_snapshot(no_segment, nullptr);
  const int kept = errno;
  vramscope_get_memory_info(0, &free_bytes, &total_bytes);
  vramscope_reset_peak_memory_stats(0);
  vramscope_empty_cache();
  const int by_faces = next;
  armed_until = kBlocks;
  execute_in_vain();  // a report, by another thread
  if (argc > 1) std::printf("freed by faces: %d, by a report: %d\n", by_faces, next - by_faces);
  armed_until = 0;
  std::printf("errno kept: %d, by calls of the driver: %d\n", kept == 77,
              errno_after_calls() == 77);
  for (int i = next; i < kBlocks; ++i) MUST(cuMemFree(blocks[i]));
  MUST(cuMemFree(allocate(1000)));  // waits for what no other thread could wait for
  std::printf("failures: %d\n", static_cast<int>(failures));
  std::printf("everything is free: %d\n", unused_bytes() == before);
}
