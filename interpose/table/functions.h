// The table of driver functions, derived from functions.def: declarations, an id for each row, and
// checks of each row against the vendor's typedefs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Declares old, _v2 and per-thread names side by side, instead of macros that map one to the other.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaTypedefs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "interpose/table/graphics.h"
#include "reporter/base/event.h"

#if CUDA_VERSION < 12000
// Newer runtimes ask for this function, whatever toolkit we are built with.
using CUdriverProcAddressQueryResult = int;  // an enumeration since 12.0
extern "C" CUresult CUDAAPI cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion,
                                                cuuint64_t flags,
                                                CUdriverProcAddressQueryResult* symbolStatus);
using PFN_cuGetProcAddress_v12000 = decltype(&cuGetProcAddress_v2);
#endif

namespace vramscope {

// Index of a row.
enum class Function : std::uint16_t {
#define DRIVER_FUNCTION(symbol, ...) symbol,
#include "interpose/table/functions.def"
};

struct FunctionRow {
  const char* symbol;
  const char* asked_as;
  int since;
  bool per_thread;  // the _ptsz or _ptds flavour
  Effect effect;
  Kind kind;
};

inline constexpr FunctionRow kFunctions[] = {
#define DRIVER_FUNCTION(symbol, asked_as, since, stream, parameters, arguments, path, effect, \
                        kind, address, bytes)                                                 \
  {#symbol, #asked_as, since, sizeof(#stream) > 1, Effect::effect, Kind::kind},
#include "interpose/table/functions.def"
};
inline constexpr std::size_t kFunctionCount = std::size(kFunctions);

inline constexpr const FunctionRow& row(Function function) {
  return kFunctions[static_cast<std::size_t>(function)];
}

// Checks name, version and signature of each row against the toolkit that we are built with.
#define DRIVER_FUNCTION(symbol, asked_as, since, stream, ...)                           \
  static_assert(std::is_same_v<decltype(&::symbol), PFN_##asked_as##_v##since##stream>, \
                "functions.def: " #symbol " differs from PFN_" #asked_as "_v" #since #stream);
#include "interpose/table/functions.def"

}  // namespace vramscope
