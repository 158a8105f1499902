// Finds the driver's functions.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/doors.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <limits>

namespace vramscope::differential {
namespace {

constinit std::array<Counts, std::size(kSymbols)> counts;

void* in_driver(std::string_view name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver == nullptr ? nullptr : dlsym(driver, name.data());
}

int driver_version() {
  using Ask = decltype(&::cuDriverGetVersion);
  const Ask ask = reinterpret_cast<Ask>(in_driver("cuDriverGetVersion"));
  int version = 0;
  return ask != nullptr && ask(&version) == CUDA_SUCCESS ? version : 0;
}

// The last version before the next signature of the function.
int until(const Symbol& symbol) {
  int last = std::numeric_limits<int>::max();
  for (const Symbol& other : kSymbols) {
    const bool is_newer = other.asked_as == symbol.asked_as && other.since > symbol.since;
    if (is_newer && other.flavour.empty()) last = std::min(last, other.since - 1);
  }
  return last;
}

void* by_proc(const Symbol& symbol, int version, bool per_thread) {
  using Ask = decltype(&::cuGetProcAddress_v2);
  static const Ask ask = reinterpret_cast<Ask>(in_driver("cuGetProcAddress_v2"));
  void* function = nullptr;
  CUdriverProcAddressQueryResult result{};
  const cuuint64_t flags = per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                      : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  static const int newest = driver_version();
  if (ask == nullptr || symbol.since > newest) return nullptr;
  version = std::min(version, newest);
  const CUresult code = ask(symbol.asked_as.data(), &function, version, flags, &result);
  return code == CUDA_SUCCESS ? function : nullptr;
}

}  // namespace

Found find(Door door, Way way, void* linked) {
  const Symbol& plain = kSymbols[door.plain];
  Counts* const own = &counts[door.plain];
  Counts* const of_thread = &counts[door.per_thread];
  switch (way) {
    case Way::linked:
      return {linked, own};
    case Way::dlsym:
      return {in_driver(plain.name), own};
    case Way::dlsym_thread:
      return {in_driver(kSymbols[door.per_thread].name), of_thread};
    case Way::proc:
      return {by_proc(plain, plain.since, false), own};
    case Way::later:
      return {by_proc(plain, until(plain), false), own};
    case Way::proc_thread:
      return {by_proc(plain, until(plain), true), of_thread};
  }
  return {};
}

std::string counted_calls() {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Counts& own = counts[i];
    if (own.calls == 0) continue;
    text += "calls " + std::string(kSymbols[i].name) + " " + std::to_string(own.calls) + " " +
            std::to_string(own.failures) + "\n";
  }
  return text;
}

void forget_counted_calls() {
  for (Counts& own : counts) own.calls = 0, own.failures = 0;
}

}  // namespace vramscope::differential
