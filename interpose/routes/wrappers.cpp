// Every exported driver function, derived from functions.def: guard, clock, body, record.
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>
#include <utility>

#include "interpose/call/call.h"
#include "interpose/driver/array_bytes.h"
#include "interpose/driver/range_bytes.h"
#include "interpose/life/late_entry.h"
#include "interpose/loader/late_driver.h"
#include "interpose/loader/real.h"
#include "interpose/routes/routes.h"
#include "interpose/table/functions.h"

// The driver's answer before cuInit. Also the answer if there is no driver (for a weak reference in
// a program that can run without one) and nobody else defines the function.
#define VRAMSCOPE_NO_DRIVER CUDA_ERROR_NOT_INITIALIZED

// Bodies by path. A routed body gets the recorded real call for cases that it does not serve.
#define VRAMSCOPE_BODY_direct(symbol, arguments) direct()
#define VRAMSCOPE_BODY_bounded(symbol, arguments) \
  vramscope::bounded(call, direct, vramscope::planned::symbol arguments)
#define VRAMSCOPE_BODY_routed(symbol, arguments) \
  [&](auto... values) { return vramscope::routes::symbol(call, direct, values...); } arguments

namespace {

// Returns the stream argument. For functions of the per-thread flavour, 0 means another stream.
template <class... Arguments>
void note_stream([[maybe_unused]] vramscope::Call& call, [[maybe_unused]] bool per_thread,
                 Arguments... arguments) {
  [[maybe_unused]] const auto note = [&](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), CUstream>) {
      const bool is_default = argument == nullptr || argument == CU_STREAM_LEGACY;
      call.set_stream(!is_default ? argument : per_thread ? CU_STREAM_PER_THREAD : nullptr);
    }
  };
  (note(arguments), ...);
}

}  // namespace

// Rows without an effect (start-up and lookup) do their work before the profiler is active.
#define DRIVER_FUNCTION(symbol, asked_as, since, stream, parameters, arguments, path, effect_, \
                        kind, address, bytes)                                                  \
  extern "C" __attribute__((visibility("default"))) CUresult symbol parameters {               \
    using namespace vramscope;                                                                 \
    if (!load_real_if_mapped()) {                                                              \
      const LateDriver late(#symbol, __builtin_return_address(0));                             \
      auto* const theirs = late.find(&::symbol);                                               \
      return theirs != nullptr ? theirs arguments : VRAMSCOPE_NO_DRIVER;                       \
    }                                                                                          \
    if (real().symbol == nullptr) return VRAMSCOPE_NO_DRIVER;                                  \
    Call call(Function::symbol, Effect::effect_, Kind::kind, __builtin_frame_address(0));      \
    auto real_call = [&] { return real().symbol arguments; };                                  \
    if (!call.active() && Effect::effect_ != Effect::none) {                                   \
      if (start_late()) return symbol arguments;                                               \
      if constexpr (Effect::effect_ == Effect::release) {                                      \
        const auto deferred = Call::defer_free(Function::symbol, to_address(address));         \
        if (deferred) return *deferred;                                                        \
      }                                                                                        \
      return real().symbol.pointer() arguments;                                                \
    }                                                                                          \
    auto memory = [&] {                                                                        \
      return std::pair<Address, std::size_t>(to_address(address),                              \
                                             static_cast<std::size_t>(bytes));                 \
    };                                                                                         \
    if constexpr (Effect::effect_ == Effect::allocate) {                                       \
      [&](auto... values) { note_stream(call, sizeof #stream > 1, values...); } arguments;     \
    }                                                                                          \
    auto recorded = [&] { return call.direct(real_call, memory); };                            \
    [[maybe_unused]] const DirectCall direct(recorded);                                        \
    return call.finish(VRAMSCOPE_BODY_##path(symbol, arguments));                              \
  }
#include "interpose/table/functions.def"
