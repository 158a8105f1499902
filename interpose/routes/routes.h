// Routes are the bodies of functions that we answer ourselves, fully or in part. No other code
// changes what a program observes. Errors are the driver's codes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/call/call.h"
#include "interpose/table/functions.h"

namespace vramscope {

// Calls the real function with the program's arguments and records it as its row says. Valid during
// the call.
class DirectCall {
 public:
  template <class F>
  explicit DirectCall(F& function)
      : function_(&function), invoke_([](void* f) { return (*static_cast<F*>(f))(); }) {}
  CUresult operator()() const { return invoke_(function_); }

 private:
  void* function_;
  CUresult (*invoke_)(void*);
};

// The body of the path `bounded`: a direct call for `bytes` on the current context's device.
// Returns OUT_OF_MEMORY if they exceed the device's capacity. If the driver has no memory, our idle
// segments go back and the driver is asked once more. Neither happens during a capture.
[[nodiscard]] CUresult bounded(Call& call, const DirectCall& direct, std::uint64_t bytes) noexcept;
// The same on the device of `where`.
[[nodiscard]] CUresult bounded(Call& call, const DirectCall& direct, std::uint64_t bytes,
                               Place where) noexcept;
// The same for pinned memory, which takes of a device only where the device's memory is the host's.
[[nodiscard]] CUresult bounded_pinned(Call& call, const DirectCall& direct,
                                      std::uint64_t bytes) noexcept;
// The same for memory on a device that need not be the current one. The capacity is reserved only
// during the call; the caller records the memory.
CUresult bounded_elsewhere(Call& call, const DirectCall& direct, std::uint64_t bytes,
                           std::uint16_t device) noexcept;

// The same for memory on several devices. If the call succeeds, the capacity stays reserved, and
// `bytes` holds the amounts: 0 without a capacity.
CUresult bounded_graph(Call& call, const DirectCall& direct, GraphMemory::Bytes& bytes) noexcept;

// Turn a parenthesised parameter list into that of a body, or into the rest of such a list.
#define VRAMSCOPE_UNWRAP(...) __VA_ARGS__
#define VRAMSCOPE_AND(...) __VA_OPT__(, ) __VA_ARGS__

// Bodies without an effect run before there is a profiler, and an ending thread may be unwound
// through them.
#define VRAMSCOPE_BODY_OF_direct(symbol, parameters, effect)
#define VRAMSCOPE_BODY_OF_bounded(symbol, parameters, effect)
#define VRAMSCOPE_BODY_OF_routed(symbol, parameters, effect)                               \
  CUresult symbol(Call& call, const DirectCall& direct VRAMSCOPE_AND parameters) noexcept( \
      Effect::effect != Effect::none);

namespace routes {
#define DRIVER_FUNCTION(symbol, asked_as, since, stream, parameters, arguments, path, effect, ...) \
  VRAMSCOPE_BODY_OF_##path(symbol, parameters, effect)
#include "interpose/table/functions.def"
}  // namespace routes

// Computes, before the call, the bytes of the device that a call on the path `bounded` requests.
#define VRAMSCOPE_PLAN_OF_direct(symbol, parameters)
#define VRAMSCOPE_PLAN_OF_routed(symbol, parameters)
#define VRAMSCOPE_PLAN_OF_bounded(symbol, parameters) \
  [[nodiscard]] std::uint64_t symbol(VRAMSCOPE_UNWRAP parameters) noexcept;

namespace planned {
#define DRIVER_FUNCTION(symbol, asked_as, since, stream, parameters, arguments, path, ...) \
  VRAMSCOPE_PLAN_OF_##path(symbol, parameters)
#include "interpose/table/functions.def"
}  // namespace planned

}  // namespace vramscope
