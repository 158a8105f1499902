// Finds the driver's functions.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/doors.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace vramscope::differential {
namespace {

struct Row {
  const char* symbol;
  const char* asked_as;
  int since;
  int until;
  const char* suffix;
  void* linked;
};
#define DOOR(symbol, asked, since, until, suffix) \
  {#symbol, #asked, since, until, #suffix, reinterpret_cast<void*>(&::symbol)},
const Row kRows[] = {
#include "test/differential/doors.def"
};
constexpr std::size_t kCount = std::size(kRows);

// Of the plain symbol and of the per-thread one.
std::array<std::array<Counts, 2>, kCount> counts;

void* in_driver(const std::string& name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver == nullptr ? nullptr : dlsym(driver, name.c_str());
}

int driver_version() {
  using Ask = decltype(&::cuDriverGetVersion);
  const Ask ask = reinterpret_cast<Ask>(in_driver("cuDriverGetVersion"));
  int version = 0;
  return ask != nullptr && ask(&version) == CUDA_SUCCESS ? version : 0;
}

void* by_proc(const Row& row, int version, bool per_thread) {
  using Ask = decltype(&::cuGetProcAddress_v2);
  static const Ask ask = reinterpret_cast<Ask>(in_driver("cuGetProcAddress_v2"));
  void* function = nullptr;
  CUdriverProcAddressQueryResult result{};
  const cuuint64_t flags = per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                      : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  static const int newest = driver_version();
  if (ask == nullptr || row.since > newest) return nullptr;
  version = std::min(version, newest);
  return ask(row.asked_as, &function, version, flags, &result) == CUDA_SUCCESS ? function : nullptr;
}

}  // namespace

Found find(Door door, Way way) {
  const auto index = static_cast<std::size_t>(door);
  const Row& row = kRows[index];
  const bool per_thread = way == Way::dlsym_thread || way == Way::proc_thread;
  const bool has_flavour = row.suffix[0] != '\0';
  Counts* const own = &counts[index][per_thread && has_flavour ? 1 : 0];
  switch (way) {
    case Way::linked:
      return {row.linked, own};
    case Way::dlsym:
      return {in_driver(row.symbol), own};
    case Way::dlsym_thread:
      return {in_driver(row.symbol + std::string(row.suffix)), own};
    case Way::proc:
      return {by_proc(row, row.since, false), own};
    case Way::later:
      return {by_proc(row, row.until, false), own};
    case Way::proc_thread:
      return {by_proc(row, row.until, true), own};
  }
  return {};
}

std::string counted_calls() {
  std::string text;
  for (std::size_t i = 0; i < kCount; ++i) {
    for (int flavour = 0; flavour < 2; ++flavour) {
      const Counts& own = counts[i][static_cast<std::size_t>(flavour)];
      if (own.calls == 0) continue;
      text += std::string("calls ") + kRows[i].symbol + (flavour != 0 ? kRows[i].suffix : "") +
              " " + std::to_string(own.calls) + " " + std::to_string(own.failures) + "\n";
    }
  }
  return text;
}

void forget_counted_calls() {
  for (auto& both : counts) {
    for (Counts& own : both) own.calls = 0, own.failures = 0;
  }
}

}  // namespace vramscope::differential
