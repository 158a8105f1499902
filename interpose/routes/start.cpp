// Handles start-up, and the functions that the program looks up by cuGetProcAddress.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>
#include <string_view>

#include "allocator/base/fault.h"
#include "interpose/life/start.h"
#include "interpose/loader/lookup.h"
#include "interpose/loader/real.h"
#include "interpose/routes/routes.h"
#include "interpose/settings/startup.h"

namespace vramscope::routes {

namespace {

// Returns the driver's function for exactly the version of a row.
void* answer_for(const FunctionRow& row, cuuint64_t flags) {
  void* known = nullptr;
  if (real().cuGetProcAddress_v2 != nullptr) {
    CUdriverProcAddressQueryResult status{};
    real().cuGetProcAddress_v2(row.asked_as, &known, row.since, flags, &status);
  } else if (real().cuGetProcAddress != nullptr) {
    real().cuGetProcAddress(row.asked_as, &known, row.since, flags);
  }
  return known;
}

// From CUDA 12 on the header uses this name for another function with other parameters. The
// driver's answers show whether the driver does.
constexpr std::string_view kAmbiguousName = "cuGraphInstantiate";
constexpr Function kItsOtherMeaning = Function::cuGraphInstantiateWithFlags;

bool wants_per_thread(cuuint64_t flags) {
  return (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
}

// For a version above its own, a driver returns its newest function (as do the drivers of
// test/golden/driver_lookups.txt), so rows that it lacks are skipped.
const FunctionRow* newest_there(const char* symbol, int version, cuuint64_t flags,
                                const void* found) {
  const bool per_thread = wants_per_thread(flags);
  const FunctionRow* newest = newest_row(symbol, version, per_thread);
  while (newest != nullptr && !driver_has(static_cast<Function>(newest - kFunctions))) {
    const FunctionRow* older = newest_row(symbol, newest->since - 1, per_thread);
    if (older == nullptr || answer_for(*older, flags) != found) break;
    newest = older;
  }
  return newest;
}

// Returns the row with the parameters of the driver's answer `found`; null if it is unknown. Up to
// the toolkit with which the table was compared, the version decides. For a newer version the
// parameters may have changed; then the driver returns another function than for the row's version.
const FunctionRow* row_of(const FunctionRow& newest, int version, cuuint64_t flags,
                          const void* found) {
  const bool is_ambiguous = newest.asked_as == kAmbiguousName;
  if (version <= CUDA_VERSION && !is_ambiguous) return &newest;
  if (answer_for(newest, flags) == found) return &newest;
  if (is_ambiguous && answer_for(row(kItsOtherMeaning), flags) == found) {
    return &row(kItsOtherMeaning);
  }
  return nullptr;
}

// By row: whether the program got a newer function than the row's.
constinit std::atomic<bool> has_newer[kFunctionCount]{};

void warn_of_newer() {
  Profiler* profiler = Profiler::active();
  for (std::size_t i = 0; profiler != nullptr && i < kFunctionCount; ++i) {
    if (!has_newer[i].load(std::memory_order_relaxed)) continue;
    char text[160];
    std::snprintf(text, sizeof text,
                  "the program uses a %s that is newer than this build of Vramscope; its calls "
                  "are not recorded",
                  kFunctions[i].asked_as);
    profiler->recorder().warn(text);  // each text once
  }
}

}  // namespace

CUresult cuInit(Call&, const DirectCall& direct, unsigned int) {
  const CUresult code = direct();
  if (code != CUDA_SUCCESS) return code;
  start_profiler();
  warn_of_newer();  // lookups come first
  return code;
}

// The driver answers first, with its own code and status. Only the found function is replaced.
CUresult cuGetProcAddress(Call&, const DirectCall& direct, const char* symbol, void** pfn,
                          int version, cuuint64_t flags) {
  const CUresult code = direct();
  const bool found = code == CUDA_SUCCESS && pfn != nullptr && *pfn != nullptr;
  if (!found || switched_off()) return code;
  if (wants_per_thread(flags) && fault(Fault::missed_flavour)) return code;
  const FunctionRow* newest = newest_there(symbol, version, flags, *pfn);
  if (newest == nullptr) return code;
  if (const FunctionRow* known = row_of(*newest, version, flags, *pfn)) {
    *pfn = wrapper_of(*known);
  } else {
    has_newer[newest - kFunctions].store(true, std::memory_order_relaxed);
    warn_of_newer();
  }
  return code;
}

CUresult cuGetProcAddress_v2(Call& call, const DirectCall& direct, const char* symbol, void** pfn,
                             int version, cuuint64_t flags, CUdriverProcAddressQueryResult*) {
  return cuGetProcAddress(call, direct, symbol, pfn, version, flags);
}

}  // namespace vramscope::routes
