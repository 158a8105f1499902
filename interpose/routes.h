// Bodies of the functions that we answer ourselves, fully or in part: the only code that changes
// what a program observes. Errors are the driver's own codes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/call.h"
#include "interpose/functions.h"

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

// Turns a parenthesised parameter list into the rest of a body's.
#define VRAMSCOPE_AND(...) __VA_OPT__(, ) __VA_ARGS__

#define VRAMSCOPE_BODY_OF_direct(symbol, parameters)
#define VRAMSCOPE_BODY_OF_routed(symbol, parameters) \
  CUresult symbol(Call& call, const DirectCall& direct VRAMSCOPE_AND parameters) noexcept;

namespace routes {
#define DRIVER_FUNCTION(symbol, asked_as, since, stream, parameters, arguments, path, ...) \
  VRAMSCOPE_BODY_OF_##path(symbol, parameters)
#include "interpose/functions.def"
}  // namespace routes

}  // namespace vramscope
