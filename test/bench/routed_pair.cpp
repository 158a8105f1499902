// Times pairs of cuMemAlloc and cuMemFree through the driver's door, as a program would call them.
// SPDX-License-Identifier: Apache-2.0
//
// routed_pair [BYTES] [PAIRS]   One JSON object on stdout. scripts/bench runs it with and without
// the preload library; the difference is what routing costs.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

// The few signatures of the driver that are used here, so that no vendor header is needed.
using Pointer = unsigned long long;
using Init = int (*)(unsigned);
using GetProcAddress = int (*)(const char*, void**, int, std::uint64_t, int*);
using PrimaryCtxRetain = int (*)(void**, int);
using CtxSetCurrent = int (*)(void*);
using MemAlloc = int (*)(Pointer*, std::size_t);
using MemFree = int (*)(Pointer);

constexpr int kRounds = 11;
constexpr int kVersion = 12000;  // the version that this program speaks

[[noreturn]] void fail(const char* what, int code) {
  std::fprintf(stderr, "routed_pair: %s: %d\n", what, code);
  std::exit(1);
}

template <class Function>
Function resolve(GetProcAddress get, const char* name) {
  void* address = nullptr;
  int symbol_status = 0;
  const int code = get(name, &address, kVersion, 0, &symbol_status);
  if (code != 0 || !address) fail(name, code);
  return reinterpret_cast<Function>(address);
}

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

double round_ns(MemAlloc allocate, MemFree release, std::size_t bytes, int pairs) {
  const double begin = now_ns();
  for (int i = 0; i < pairs; ++i) {
    Pointer pointer = 0;
    if (const int code = allocate(&pointer, bytes)) fail("cuMemAlloc_v2", code);
    if (const int code = release(pointer)) fail("cuMemFree_v2", code);
  }
  return (now_ns() - begin) / pairs;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 20000;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    std::fprintf(stderr, "routed_pair: %s\n", dlerror());
    return 77;  // no driver here: skipped
  }
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress_v2"));
  if (!get || pairs < 1) fail("cuGetProcAddress_v2", -1);
  void* context = nullptr;
  if (const int code = resolve<Init>(get, "cuInit")(0)) fail("cuInit", code);
  const auto retain = resolve<PrimaryCtxRetain>(get, "cuDevicePrimaryCtxRetain");
  if (const int code = retain(&context, 0)) fail("cuDevicePrimaryCtxRetain", code);
  if (const int code = resolve<CtxSetCurrent>(get, "cuCtxSetCurrent")(context)) {
    fail("cuCtxSetCurrent", code);
  }
  const auto allocate = resolve<MemAlloc>(get, "cuMemAlloc");
  const auto release = resolve<MemFree>(get, "cuMemFree");

  std::thread([] { pause(); }).detach();  // glibc flatters processes that have one thread
  std::vector<double> rounds;
  round_ns(allocate, release, bytes, pairs);
  for (int i = 0; i < kRounds; ++i) rounds.push_back(round_ns(allocate, release, bytes, pairs));
  std::sort(rounds.begin(), rounds.end());
  std::printf(
      "{\"bytes\": %zu, \"pairs\": %d, \"rounds\": %d, \"ns_per_pair\": %.1f, "
      "\"min_ns\": %.1f, \"max_ns\": %.1f}\n",
      bytes, pairs, kRounds, rounds[kRounds / 2], rounds.front(), rounds.back());
  std::fflush(stdout);
}
