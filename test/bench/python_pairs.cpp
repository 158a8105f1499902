// Pairs of cuMemAlloc and cuMemFree for test/bench/python_frames.py.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace {

using Init = int (*)(unsigned);
using Retain = int (*)(void**, int);
using SetCurrent = int (*)(void*);
using Allocate = int (*)(std::uint64_t*, std::size_t);
using Free = int (*)(std::uint64_t);

template <class Function>
Function find(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(driver, name));
}

bool start() {
  void* context = nullptr;
  return find<Init>("cuInit") != nullptr && find<Init>("cuInit")(0) == 0 &&
         find<Retain>("cuDevicePrimaryCtxRetain")(&context, 0) == 0 &&
         find<SetCurrent>("cuCtxSetCurrent")(context) == 0;
}

double ran_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace

// Time that the thread ran; negative when the driver refused.
extern "C" __attribute__((visibility("default"))) double ran_ns_of_pairs(int pairs) {
  static const bool started = start();
  if (!started) return -1e18;
  const auto allocate = find<Allocate>("cuMemAlloc_v2");
  const auto release = find<Free>("cuMemFree_v2");
  const double begin = ran_ns();
  for (int i = 0; i < pairs; ++i) {
    std::uint64_t pointer = 0;
    if (allocate(&pointer, std::size_t{1} << 20) != 0 || release(pointer) != 0) return -1e18;
  }
  return ran_ns() - begin;
}
