// Bodies of the functions that we answer ourselves, fully or in part: the only code that changes
// what a program observes. Errors are the driver's own codes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/call/call.h"
#include "interpose/table/functions.h"

namespace vramscope {

// The real function with the program's arguments, recorded as its row says. Valid during the call.
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

// The body of the path `bounded`: a direct call for `bytes` on the current context's device,
// refused with OUT_OF_MEMORY where the device's capacity has no room for them. When the driver
// itself has none, idle segments of ours go back and it is asked once more. Neither happens during
// a capture.
[[nodiscard]] CUresult bounded(Call& call, const DirectCall& direct, std::uint64_t bytes) noexcept;
// The same on the device of `where`.
[[nodiscard]] CUresult bounded(Call& call, const DirectCall& direct, std::uint64_t bytes,
                               Place where) noexcept;
// The same for memory on a device that need not be the current one. The room is kept during the
// call only: the caller records what came.
CUresult bounded_elsewhere(Call& call, const DirectCall& direct, std::uint64_t bytes,
                           std::uint16_t device) noexcept;

// The same for memory on several devices. When the call succeeds the room stays promised, and
// `bytes` says what of it: 0 without a capacity.
CUresult bounded_graph(Call& call, const DirectCall& direct, GraphMemory::Bytes& bytes) noexcept;

// Turn a parenthesised parameter list into that of a body, or into the rest of one.
#define VRAMSCOPE_UNWRAP(...) __VA_ARGS__
#define VRAMSCOPE_AND(...) __VA_OPT__(, ) __VA_ARGS__

// Those without an effect run where there is no profiler yet, and a thread may leave through them.
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

// Bytes on the device that a call on the path `bounded` asks for, before it is made.
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
