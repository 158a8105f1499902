// A function of the driver's, called so that a thread may end amid it (ground/leaving.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "allocator/ground/leaving.h"
#include "interpose/table/functions.h"

namespace vramscope {

// What our frames are told instead of an answer when the thread leaves. The program never sees it.
inline constexpr CUresult kThreadLeft = CUDA_ERROR_UNKNOWN;

template <class Pointer>
class DriverFunction;

// Threads: any.
template <class... Parameters>
class DriverFunction<CUresult (*)(Parameters...)> {
 public:
  using Pointer = CUresult (*)(Parameters...);

  constexpr DriverFunction(std::nullptr_t = nullptr) noexcept {}
  constexpr DriverFunction(Pointer function) noexcept : function_(function) {}

  CUresult operator()(Parameters... arguments) const {
    if (leaving::is_on()) [[unlikely]]
      return kThreadLeft;
    return first(arguments...);
  }
  // The same where the thread cannot have left: nothing was asked of the driver before, amid the
  // call of ours, that could wait. A hit pays for no look at it.
  CUresult first(Parameters... arguments) const {
    try {
      return function_(arguments...);
    } catch (...) {
      leaving::stop();
    }
    return kThreadLeft;
  }
  // For a call that is none of ours: what unwinds it passes.
  [[nodiscard]] Pointer pointer() const noexcept { return function_; }
  // Does the driver have it?
  explicit operator bool() const noexcept { return function_ != nullptr; }
  friend bool operator==(const DriverFunction& one, std::nullptr_t) noexcept { return !one; }

 private:
  Pointer function_ = nullptr;
};

}  // namespace vramscope
