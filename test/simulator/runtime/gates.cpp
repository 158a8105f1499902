// The exported symbols of the small runtime: each prepares, runs its body, keeps the last error.
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "test/simulator/device/entry.h"
#include "test/simulator/device/missing_call.h"
#include "test/simulator/runtime/older.h"
#include "test/simulator/runtime/runtime.h"

namespace cudart {

namespace {

class FlavourScope {
 public:
  explicit FlavourScope(bool per_thread) : before_(per_thread_default()) {
    per_thread_default() = per_thread;
  }
  ~FlavourScope() { per_thread_default() = before_; }

 private:
  bool before_;
};

}  // namespace

// "Not ready" is an answer, not an error (driver_types.h).
[[nodiscard]] cudaError_t keep(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error() = error;
  return error;
}

// Stands in every stack, so not in an anonymous namespace: by "cudart::" a profiler tells that
// these frames are the runtime's.
template <bool kPerThread, RuntimeNeeds kNeeds, auto kBody, class Result, class... Parameters>
Result enter(Parameters... arguments) {
  const FlavourScope scope(kPerThread);
  if constexpr (kNeeds == RuntimeNeeds::plain) {
    return kBody(arguments...);
  } else {
    const cudaError_t refusal = prepare(kNeeds);
    return keep(refusal == cudaSuccess ? kBody(arguments...) : refusal);
  }
}

template <bool kPerThread, RuntimeNeeds kNeeds, auto kBody, class Result, class... Parameters>
constexpr auto gate(Result (*)(Parameters...)) {
  return &enter<kPerThread, kNeeds, kBody, Result, Parameters...>;
}

#define EXPORT(symbol, body, per_thread, needs)            \
  extern "C" {                                             \
  constinit auto vramscope_slot_##symbol [[gnu::used]] =   \
      gate<per_thread, RuntimeNeeds::needs, &body>(&body); \
  }                                                        \
  VRAMSCOPE_ENTRY(symbol, ".globl " #symbol "\n.type " #symbol ", @function\n" #symbol ":\n")

#define OLDER(symbol, body, needs) EXPORT(symbol, older::body, false, needs)
#define OLDER_STREAMED(symbol, suffix, body, needs) \
  EXPORT(symbol, older::body, false, needs)         \
  EXPORT(symbol##suffix, older::body, true, needs)
#define RUNTIME(symbol, needs) EXPORT(symbol, runtime::symbol, false, needs)
#define RUNTIME_STREAMED(symbol, suffix, needs) \
  EXPORT(symbol, runtime::symbol, false, needs) \
  EXPORT(symbol##suffix, runtime::symbol, true, needs)
#include "test/simulator/runtime/functions.def"

cudaError_t unsupported(const char* function) {
  vramscope::simulator::tell_missing(function);
  return keep(cudaErrorNotSupported);
}

#define UNSUPPORTED(symbol)                                                                    \
  extern "C" {                                                                                 \
  constinit auto vramscope_slot_##symbol [[gnu::used]] = +[] { return unsupported(#symbol); }; \
  }                                                                                            \
  VRAMSCOPE_ENTRY(symbol, ".globl " #symbol "\n.type " #symbol ", @function\n" #symbol ":\n")
#define UNSUPPORTED_STREAMED(symbol, suffix) UNSUPPORTED(symbol) UNSUPPORTED(symbol##suffix)
#include "test/simulator/runtime/unsupported.def"

}  // namespace cudart
