// The driver's functions by each way in which a program may find them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Old, _v2 and per-thread names side by side, instead of macros that map one to the other.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "test/differential/sequence.h"

namespace vramscope::differential {

enum class Door : std::uint16_t {
#define DOOR(symbol, ...) symbol,
#include "test/differential/doors.def"
};

template <Door>
struct SignatureOf;
#define DOOR(symbol, ...)             \
  template <>                         \
  struct SignatureOf<Door::symbol> {  \
    using type = decltype(&::symbol); \
  };
#include "test/differential/doors.def"

struct Counts {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> failures{0};
};

struct Found {
  void* function = nullptr;  // null: this driver does not have it
  Counts* counts = nullptr;  // of the exported symbol that it is
};

// Threads: any.
[[nodiscard]] Found find(Door door, Way way);
// "cuMemAlloc_v2 17 2" for each symbol that was called: calls, and how many failed.
[[nodiscard]] std::string counted_calls();
void forget_counted_calls();

// Calls the function and counts the call, whatever comes of it.
template <Door door, class... Arguments>
CUresult call(Way way, Arguments... arguments) {
  const Found found = find(door, way);
  if (found.function == nullptr) return CUDA_ERROR_NOT_FOUND;
  const auto function = reinterpret_cast<typename SignatureOf<door>::type>(found.function);
  ++found.counts->calls;  // before: a report may be made during the call
  const CUresult code = function(arguments...);
  if (code != CUDA_SUCCESS) ++found.counts->failures;
  return code;
}
#define CU(symbol, way, ...)                                                                  \
  ::vramscope::differential::call<::vramscope::differential::Door::symbol>(way __VA_OPT__(, ) \
                                                                               __VA_ARGS__)

}  // namespace vramscope::differential
