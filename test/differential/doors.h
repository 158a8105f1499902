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
#include <string_view>

#include "test/differential/sequence.h"

namespace vramscope::differential {

// An exported symbol: how cuGetProcAddress knows it, since when, and of which flavour it is.
struct Symbol {
  std::string_view name;
  std::string_view asked_as;
  int since;
  std::string_view flavour;  // "" or "_ptsz" or "_ptds", with which the name ends
};

// What the library intercepts, and then all that the simulated driver has: the first of a name
// counts. A test compares the two lists with each other and with the vendor's.
inline constexpr Symbol kSymbols[] = {
#define DRIVER_FUNCTION(symbol, asked, since, stream, ...) {#symbol, #asked, since, #stream},
#include "interpose/table/functions.def"
#define DRIVER(symbol, asked, since, needs) {#symbol, #asked, since, ""},
#define STREAMED(symbol, asked, since, suffix, needs) \
  {#symbol, #asked, since, ""}, {#symbol #suffix, #asked, since, #suffix},
#include "test/simulator/driver/functions.def"
#undef DRIVER
#undef STREAMED
};

// A function by its plain name: its place in kSymbols and that of its per-thread twin.
struct Door {
  std::size_t plain = 0;
  std::size_t per_thread = 0;  // the same where there is no twin
};

consteval Door door_of(std::string_view name) {
  Door door;
  while (kSymbols[door.plain].name != name) ++door.plain;  // does not compile beyond the last
  door.per_thread = door.plain;
  for (std::size_t i = std::size(kSymbols); i-- > 0;) {
    const Symbol& twin = kSymbols[i];
    const bool is_ours = !twin.flavour.empty() && twin.name.starts_with(name) &&
                         twin.name.substr(name.size()) == twin.flavour;
    if (is_ours) door.per_thread = i;
  }
  return door;
}

struct Counts {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> failures{0};
};

struct Found {
  void* function = nullptr;  // null: this driver does not have it
  Counts* counts = nullptr;  // of the exported symbol that it is
};

// Threads: any. `linked`: what the program itself is linked to.
[[nodiscard]] Found find(Door door, Way way, void* linked);
// "cuMemAlloc_v2 17 2" for each symbol that was called: calls, and how many failed.
[[nodiscard]] std::string counted_calls();
void forget_counted_calls();

// Calls the function and counts the call, whatever comes of it.
template <class Function, class... Arguments>
CUresult call(Door door, Function* linked, Way way, Arguments... arguments) {
  const Found found = find(door, way, reinterpret_cast<void*>(linked));
  if (found.function == nullptr) return CUDA_ERROR_NOT_FOUND;
  const auto function = reinterpret_cast<Function*>(found.function);
  ++found.counts->calls;  // before: a report may be made during the call
  const CUresult code = function(arguments...);
  if (code != CUDA_SUCCESS) ++found.counts->failures;
  return code;
}
#define CU(symbol, way, ...)                                                              \
  ::vramscope::differential::call(::vramscope::differential::door_of(#symbol), &::symbol, \
                                  way __VA_OPT__(, ) __VA_ARGS__)

}  // namespace vramscope::differential
