// Times pairs of cuMemAlloc and cuMemFree through the driver's door, as a program would call them.
// SPDX-License-Identifier: Apache-2.0
//
// routed_pair [BYTES [PAIRS [FRAMES [written]]]]   One JSON object on stdout: time that passed, and
// time that the thread ran (the two differ where a call waits for the device), and the same for a
// wait alone and for the question for the current context, which each call asks the driver. FRAMES
// more frames are on the stack below the calls. `written`: the memory was written once, so that the
// simulated driver enters the kernel at each free; what runs then finds caches and branch
// predictors cold. scripts/bench runs it with and without the preload library; the difference is
// what routing costs, less the wait that each free makes.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
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
using CtxSynchronize = int (*)();
using CtxGetCurrent = int (*)(void**);
using Memset = int (*)(Pointer, unsigned char, std::size_t);

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

double now_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

struct Work {
  MemAlloc allocate;
  MemFree release;
  CtxSynchronize wait;
  CtxGetCurrent ask;
  std::size_t bytes;
  int pairs;
};

struct Sample {
  double passed_ns;
  double ran_ns;
};

Sample sample(const Work& work) {
  const double passed = now_ns(CLOCK_MONOTONIC);
  const double ran = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < work.pairs; ++i) {
    Pointer pointer = 0;
    if (const int code = work.allocate(&pointer, work.bytes)) fail("cuMemAlloc", code);
    if (const int code = work.release(pointer)) fail("cuMemFree", code);
  }
  return {(now_ns(CLOCK_MONOTONIC) - passed) / work.pairs,
          (now_ns(CLOCK_THREAD_CPUTIME_ID) - ran) / work.pairs};
}

double ran_ns_per_wait(const Work& work) {
  const double ran = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < work.pairs; ++i) {
    if (const int code = work.wait()) fail("cuCtxSynchronize", code);
  }
  return (now_ns(CLOCK_THREAD_CPUTIME_ID) - ran) / work.pairs;
}

double ran_ns_per_question(const Work& work) {
  void* context = nullptr;
  const double ran = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < work.pairs; ++i) {
    if (const int code = work.ask(&context)) fail("cuCtxGetCurrent", code);
  }
  return (now_ns(CLOCK_THREAD_CPUTIME_ID) - ran) / work.pairs;
}

__attribute__((noinline)) Sample sample_below(int frames, const Work& work) {
  const Sample found = frames > 0 ? sample_below(frames - 1, work) : sample(work);
  asm volatile("" ::: "memory");  // no tail call: each frame stays
  return found;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Work prepare(GetProcAddress get, std::size_t bytes, int pairs) {
  void* context = nullptr;
  if (const int code = resolve<Init>(get, "cuInit")(0)) fail("cuInit", code);
  const auto retain = resolve<PrimaryCtxRetain>(get, "cuDevicePrimaryCtxRetain");
  if (const int code = retain(&context, 0)) fail("cuDevicePrimaryCtxRetain", code);
  const auto set_current = resolve<CtxSetCurrent>(get, "cuCtxSetCurrent");
  if (const int code = set_current(context)) fail("cuCtxSetCurrent", code);
  return {resolve<MemAlloc>(get, "cuMemAlloc"),
          resolve<MemFree>(get, "cuMemFree"),
          resolve<CtxSynchronize>(get, "cuCtxSynchronize"),
          resolve<CtxGetCurrent>(get, "cuCtxGetCurrent"),
          bytes,
          pairs};
}

void write_once(GetProcAddress get, const Work& work) {
  Pointer pointer = 0;
  if (const int code = work.allocate(&pointer, work.bytes)) fail("cuMemAlloc", code);
  const auto set = resolve<Memset>(get, "cuMemsetD8");
  if (const int code = set(pointer, 0, work.bytes)) fail("cuMemsetD8", code);
  if (const int code = work.release(pointer)) fail("cuMemFree", code);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 20000;
  const int frames = argc > 3 ? std::atoi(argv[3]) : 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    std::fprintf(stderr, "routed_pair: %s\n", dlerror());
    return 77;  // no driver here: skipped
  }
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress_v2"));
  if (!get || pairs < 1) fail("cuGetProcAddress_v2", -1);
  const Work work = prepare(get, bytes, pairs);
  if (argc > 4) write_once(get, work);

  std::thread([] { pause(); }).detach();  // glibc flatters processes that have one thread
  std::vector<double> passed;
  std::vector<double> ran;
  std::vector<double> waited;
  std::vector<double> asked;
  sample_below(frames, work);
  for (int i = 0; i < kRounds; ++i) {
    const Sample found = sample_below(frames, work);
    passed.push_back(found.passed_ns);
    ran.push_back(found.ran_ns);
    waited.push_back(ran_ns_per_wait(work));
    asked.push_back(ran_ns_per_question(work));
  }
  std::printf(
      "{\"bytes\": %zu, \"pairs\": %d, \"frames\": %d, \"rounds\": %d, \"ns_per_pair\": %.1f, "
      "\"ran_ns_per_pair\": %.1f, \"ran_ns_per_wait\": %.1f, \"ran_ns_per_question\": %.1f}\n",
      bytes, pairs, frames, kRounds, median(passed), median(ran), median(waited), median(asked));
}
