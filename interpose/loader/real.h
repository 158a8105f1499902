// Real holds pointers to the driver's functions, which are found when the program has mapped the
// driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "interpose/loader/driver_function.h"
#include "interpose/table/functions.h"

namespace vramscope {

// Functions that we call ourselves and do not intercept.
// clang-format off
#define VRAMSCOPE_USED_FUNCTIONS(X)                                                              \
  X(cuCtxGetApiVersion) X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxPushCurrent_v2)              \
  X(cuCtxPopCurrent_v2)                                                                          \
  X(cuDeviceGetCount) X(cuDevicePrimaryCtxGetState) X(cuDeviceGetName) X(cuDeviceGetUuid)        \
  X(cuDeviceGetPCIBusId) X(cuDeviceGetAttribute) X(cuDriverGetVersion) X(cuStreamGetCtx)         \
  X(cuStreamGetCaptureInfo_v2) X(cuStreamGetCaptureInfo_v2_ptsz) X(cuStreamQuery)        \
  X(cuDeviceGetGraphMemAttribute) X(cuDeviceGetDefaultMemPool)
// Functions that we can do without.
#define VRAMSCOPE_USED_IF_THERE(X)                                                               \
  X(cuMemSetAccess) X(cuMemGetAllocationGranularity) X(cuMemsetD8_v2) X(cuMemcpyDtoH_v2)  \
  X(cuMemPoolGetAttribute)
// clang-format on

struct Real {
#define DRIVER_FUNCTION(symbol, ...) DriverFunction<decltype(&::symbol)> symbol{};
#include "interpose/table/functions.def"
#define X(symbol) DriverFunction<decltype(&::symbol)> symbol{};
  VRAMSCOPE_USED_FUNCTIONS(X)
  VRAMSCOPE_USED_IF_THERE(X)
#undef X
  std::uint64_t (*vramscope_simulated_launches)() =
      nullptr;  // only in our simulated device, like the next
  bool (*vramscope_simulated_shared)() = nullptr;
};

// Every function is null until the driver is found; functions that it lacks stay null. Threads:
// any; written once.
extern constinit std::atomic<const Real*> known_driver;
extern constinit const Real no_driver;
[[nodiscard, gnu::always_inline]] inline const Real& real() noexcept {
  const Real* const known = known_driver.load(std::memory_order_acquire);
  return known != nullptr ? *known : no_driver;
}

// Whether the driver has every function that we call. Calls of a driver that lacks some (a stub, or
// older than 11.8) pass unrecorded.
[[nodiscard]] bool driver_is_complete() noexcept;

// Whether the driver exports the function of that row of functions.def.
[[nodiscard]] bool driver_has(Function function) noexcept;

// Returns the names of functions of the table that a driver of `driver_version` should have and
// this one lacks, so that their calls go unseen. Graphics functions are optional. May throw
// bad_alloc.
[[nodiscard]] std::string missing_functions(int driver_version);

// Finds the real functions in a driver that the program has mapped under the name `file`; we never
// map one. Returns false if there is none.
bool find_mapped_driver(const char* file) noexcept;
// Inline, because a prologue must be movable (test/tables/prologues_test.py), and one that names
// the file is not.
[[gnu::always_inline]] inline bool load_real_if_mapped(const char* file = "libcuda.so.1") noexcept {
  return known_driver.load(std::memory_order_acquire) != nullptr || find_mapped_driver(file);
}

}  // namespace vramscope
