// Measures what a driver does and what its calls cost: the questions that only a real GPU answers.
// SPDX-License-Identifier: Apache-2.0
// Opens the driver by dlopen, so it runs anywhere. One line a result, as JSON, on stdout.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

static void* driver;

static void* find(const char* name) {
  void* symbol = dlsym(driver, name);
  if (symbol == nullptr) {
    std::printf("{\"what\": \"stopped\", \"note\": \"%s is missing in the driver\"}\n", name);
    std::exit(0);
  }
  return symbol;
}

#define TEXT_OF(name) #name
#define SYMBOL(name) TEXT_OF(name)
// The driver's function of that name, in the version that the header means.
#define CU(name)                                                                  \
  ([] {                                                                           \
    static auto function = reinterpret_cast<decltype(&name)>(find(SYMBOL(name))); \
    return function;                                                              \
  }())

static constexpr std::size_t kKiB = 1024, kMiB = kKiB * kKiB;
static constexpr int kRounds = 31;

static void tell(const char* what, double value, const char* unit) {
  std::printf("{\"what\": \"%s\", \"value\": %.12g, \"unit\": \"%s\"}\n", what, value, unit);
  std::fflush(stdout);
}

static void tell_code(const char* what, CUresult code) { tell(what, code, "code"); }

static void tell_missing(const char* what, const char* why, CUresult code) {
  std::printf("{\"what\": \"%s\", \"note\": \"%s (code %d)\"}\n", what, why, code);
}

static double microseconds(const std::function<void()>& call) {
  auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

static double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

static std::string by_size(const char* what, std::size_t bytes) {
  return std::string(what) + " " +
         (bytes < kMiB ? std::to_string(bytes / kKiB) + " KiB"
                       : std::to_string(bytes / kMiB) + " MiB");
}

// The first pair reaches the driver in every mode; the median of the others is a hit under a cache.
static void measure_pairs(std::size_t bytes) {
  std::vector<double> allocations, frees;
  unsigned long long bits = 0;
  for (int round = 0; round < kRounds; ++round) {
    CUdeviceptr block = 0;
    CUresult code = CUDA_SUCCESS;
    double time = microseconds([&] { code = CU(cuMemAlloc)(&block, bytes); });
    if (code != CUDA_SUCCESS) {
      return tell_missing(by_size("cuMemAlloc", bytes).c_str(), "refused", code);
    }
    bits |= block;
    allocations.push_back(time);
    frees.push_back(microseconds([&] { CU(cuMemFree)(block); }));
  }
  tell(by_size("cuMemAlloc first", bytes).c_str(), allocations.front(), "us");
  tell(by_size("cuMemAlloc", bytes).c_str(), median(allocations), "us");
  tell(by_size("cuMemFree", bytes).c_str(), median(frees), "us");
  tell(by_size("alignment", bytes).c_str(), static_cast<double>(bits & -bits), "bytes");
}

static void measure_pinned(std::size_t bytes) {
  std::vector<double> pairs;
  for (int round = 0; round < kRounds; ++round) {
    void* block = nullptr;
    pairs.push_back(microseconds([&] {
      if (CU(cuMemHostAlloc)(&block, bytes, 0) == CUDA_SUCCESS) CU(cuMemFreeHost)(block);
    }));
  }
  tell(by_size("pinned pair first", bytes).c_str(), pairs.front(), "us");
  tell(by_size("pinned pair", bytes).c_str(), median(pairs), "us");
}

// How far free memory falls when so many bytes are allocated, the context being warm.
static void measure_step(std::size_t bytes) {
  std::size_t before = 0, after = 0, total = 0;
  CUdeviceptr block = 0;
  CU(cuMemGetInfo)(&before, &total);
  if (CU(cuMemAlloc)(&block, bytes) != CUDA_SUCCESS) return;
  CU(cuMemGetInfo)(&after, &total);
  CU(cuMemFree)(block);
  tell(by_size("free memory falls by, for", bytes).c_str(),
       static_cast<double>(before) - static_cast<double>(after), "bytes");
}

static const char* const kSpin = R"(
.version 6.4
.target sm_52
.address_size 64
.visible .entry spin(.param .u64 ns)
{
  .reg .u64 %now, %end;
  .reg .pred %again;
  ld.param.u64 %end, [ns];
  mov.u64 %now, %globaltimer;
  add.u64 %end, %end, %now;
loop:
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %again, %now, %end;
  @%again bra loop;
  ret;
}
)";

static constexpr unsigned long long kSpinNs = 20'000'000;

static void measure_waits(CUstream stream) {
  std::vector<double> idle;
  for (int round = 0; round < kRounds; ++round) {
    idle.push_back(microseconds([] { CU(cuCtxSynchronize)(); }));
  }
  tell("cuCtxSynchronize, idle", median(idle), "us");

  CUmodule module;
  CUfunction spin;
  CUresult code = CU(cuModuleLoadData)(&module, kSpin);
  if (code == CUDA_SUCCESS) code = CU(cuModuleGetFunction)(&spin, module, "spin");
  if (code != CUDA_SUCCESS) return tell_missing("waits under a kernel", "cannot load it", code);
  unsigned long long ns = kSpinNs;
  void* arguments[] = {&ns};
  auto busy = [&] {
    CU(cuCtxSynchronize)();
    CU(cuLaunchKernel)(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  };
  busy();  // the first launch also loads the kernel
  busy();
  tell("cuCtxSynchronize, kernel of 20000 us", microseconds([] { CU(cuCtxSynchronize)(); }), "us");
  for (std::size_t bytes : {64 * kKiB, 16 * kMiB}) {
    CUdeviceptr block = 0;
    CU(cuMemAlloc)(&block, bytes);
    busy();
    tell(by_size("cuMemFree under a kernel of 20000 us,", bytes).c_str(), microseconds([&] {
           CU(cuMemFree)
           (block);
         }),
         "us");
  }
  busy();
  CUdeviceptr block = 0;
  tell("cuMemAlloc 16 MiB under a kernel of 20000 us", microseconds([&] {
         CU(cuMemAlloc)
         (&block, 16 * kMiB);
       }),
       "us");
  CU(cuCtxSynchronize)();
  CU(cuMemFree)(block);
}

// Calls a second of so many threads that do nothing else; `call` gets the thread's number.
static double calls_a_second(int threads, CUcontext context, const std::function<void(int)>& call) {
  constexpr auto kTime = std::chrono::milliseconds(50);
  constexpr int kWarm = 16;
  std::atomic<int> ready{0};
  std::atomic<bool> go{false}, stop{false};
  std::atomic<long> calls{0};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      CU(cuCtxSetCurrent)(context);
      for (int k = 0; k < kWarm; ++k) call(i);
      ++ready;
      while (!go) std::this_thread::yield();
      long own = 0;
      for (; !stop.load(std::memory_order_relaxed); ++own) call(i);
      calls += own;
    });
  }
  while (ready != threads) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  go = true;
  std::this_thread::sleep_for(kTime);
  stop = true;
  for (auto& thread : all) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return static_cast<double>(calls) / took.count();
}

// What several threads get done at once: pairs, and the wait in each free by itself.
static void measure_threads(CUcontext context) {
  const auto pair = [](std::size_t bytes) {
    CUdeviceptr block = 0;
    if (CU(cuMemAlloc)(&block, bytes) == CUDA_SUCCESS) CU(cuMemFree)(block);
  };
  for (int threads : {1, 2, 4, 8, 16}) {
    const std::string count = ", threads: " + std::to_string(threads);
    const auto tell_rate = [&](const char* what, const std::function<void(int)>& call) {
      tell((what + count).c_str(), calls_a_second(threads, context, call), "1/s");
    };
    tell_rate("pairs of one size", [&](int) { pair(2 * kMiB); });
    tell_rate("pairs, sizes of their own", [&](int i) { pair(2 * kMiB * (i + 1)); });
    tell_rate("cuCtxSynchronize, idle", [](int) { CU(cuCtxSynchronize)(); });
  }
}

static void ask_capture(CUstream stream) {
  CUdeviceptr block = 0, during = 0;
  CUgraph graph = nullptr;
  for (auto [name, mode] : {std::pair{"global", CU_STREAM_CAPTURE_MODE_GLOBAL},
                            std::pair{"relaxed", CU_STREAM_CAPTURE_MODE_RELAXED}}) {
    std::string when = std::string(" during ") + name + " capture";
    CU(cuMemAlloc)(&block, 4 * kMiB);
    CU(cuStreamBeginCapture)(stream, mode);
    tell_code(("cuMemFree" + when).c_str(), CU(cuMemFree)(block));
    tell_code(("end of capture after a free" + when).c_str(),
              CU(cuStreamEndCapture)(stream, &graph));
    CU(cuStreamBeginCapture)(stream, mode);
    tell_code(("cuMemAlloc" + when).c_str(), CU(cuMemAlloc)(&during, 4 * kMiB));
    tell_code(("end of capture after an allocation" + when).c_str(),
              CU(cuStreamEndCapture)(stream, &graph));
  }
}

static void ask_codes() {
  CUdeviceptr block = 0;
  CUipcMemHandle handle{};
  CU(cuMemAlloc)(&block, 4 * kMiB);
  tell_code("cuIpcGetMemHandle of a block", CU(cuIpcGetMemHandle)(&handle, block));
  tell_code("cuIpcGetMemHandle inside a block", CU(cuIpcGetMemHandle)(&handle, block + 2 * kMiB));
  tell_code("cuMemFree inside a block", CU(cuMemFree)(block + 512));
  CUcontext context = nullptr;
  CU(cuCtxGetCurrent)(&context);
  CU(cuCtxSetCurrent)(nullptr);
  tell_code("cuMemFree without a context", CU(cuMemFree)(block));
  CU(cuCtxSetCurrent)(context);
  tell_code("cuMemFree with the context back", CU(cuMemFree)(block));
  tell_code("cuMemFreeHost of nothing", CU(cuMemFreeHost)(nullptr));
  void* resolved = nullptr;
  CUdriverProcAddressQueryResult status{};
  CU(cuGetProcAddress)("cuMemAlloc", &resolved, 3020, 0, &status);
  tell("cuGetProcAddress gives the exported symbol", resolved == find("cuMemAlloc_v2"), "bool");
}

int main() {
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    std::printf(
        "{\"what\": \"stopped\", \"note\": \"no driver: libcuda.so.1 cannot be opened\"}\n");
    return 0;
  }
  CUdevice device;
  CUcontext context;
  CUstream stream;
  CUresult code = CU(cuInit)(0);
  if (code == CUDA_SUCCESS) code = CU(cuDeviceGet)(&device, 0);
  if (code == CUDA_SUCCESS) code = CU(cuDevicePrimaryCtxRetain)(&context, device);
  if (code == CUDA_SUCCESS) code = CU(cuCtxSetCurrent)(context);
  if (code == CUDA_SUCCESS) code = CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING);
  if (code != CUDA_SUCCESS) {
    tell_missing("stopped", "the driver does not start", code);
    return 0;
  }
  int version = 0;
  char name[256] = "";
  CU(cuDriverGetVersion)(&version);
  CU(cuDeviceGetName)(name, sizeof name, device);
  tell("driver version", version, "");
  std::printf("{\"what\": \"device\", \"note\": \"%s\"}\n", name);
  for (std::size_t bytes :
       {4 * kKiB, 64 * kKiB, kMiB, 2 * kMiB, 16 * kMiB, 256 * kMiB, 1024 * kMiB}) {
    measure_pairs(bytes);
  }
  for (std::size_t bytes : {64 * kKiB, 16 * kMiB}) measure_pinned(bytes);
  for (std::size_t bytes : {kKiB, 64 * kKiB, kMiB, 3 * kMiB, 21 * kMiB}) measure_step(bytes);
  measure_waits(stream);
  measure_threads(context);
  ask_codes();
  ask_capture(stream);
}
