// Frees memory on one thread, and gets it again on another before the free has returned.
// SPDX-License-Identifier: Apache-2.0
// Argument: plain or ordered. The simulated driver alone tells when it has done its work: on a real
// one the second thread comes after the free, and may get another address.
#include <dlfcn.h>

#include <atomic>
#include <string_view>
#include <thread>

#include "test/programs/driver.h"

namespace {

constexpr std::size_t kBytes = 8 * kMiB;

struct Way {
  const char* name;
  CUdeviceptr (*allocate)(std::size_t bytes);
  void (*free)(CUdeviceptr);
};

CUdeviceptr allocate_in_order(std::size_t bytes) {
  CUdeviceptr block = 0;
  MUST(cuMemAllocAsync(&block, bytes, nullptr));
  return block;
}

const Way kWays[] = {
    {"plain", allocate, [](CUdeviceptr block) { MUST(cuMemFree(block)); }},
    {"ordered", allocate_in_order, [](CUdeviceptr block) { MUST(cuMemFreeAsync(block, nullptr)); }},
};

std::atomic<bool> is_free{false};
std::atomic<bool> is_taken{false};
thread_local bool frees = false;

void wait_until_taken() {
  if (!frees) return;
  is_free = true;
  while (!is_taken) std::this_thread::yield();
}

// Whether the driver will call wait_until_taken() at the end of each call.
bool is_told() {
  void* const found = dlsym(RTLD_DEFAULT, "vramscope_simulated_answers");
  if (found == nullptr) return false;
  reinterpret_cast<void (*)(void (*)())>(found)(wait_until_taken);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const Way* way = kWays;
  for (const Way& one : kWays) {
    if (argc > 1 && std::string_view(argv[1]) == one.name) way = &one;
  }
  CUcontext context = start();
  const bool told = is_told();
  const CUdeviceptr first = way->allocate(kBytes);
  std::thread freeing([&] {
    MUST(cuCtxSetCurrent(context));
    frees = true;
    way->free(first);
    frees = false;
  });
  if (!told) freeing.join();
  while (told && !is_free) std::this_thread::yield();
  MUST(cuStreamSynchronize(nullptr));
  const CUdeviceptr second = way->allocate(kBytes / 2);
  is_taken = true;
  if (told) freeing.join();
  std::printf("the same address: %d\n", first == second);
  way->free(second);
}
