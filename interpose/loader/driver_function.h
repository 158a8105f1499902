// DriverFunction calls a function of the driver so that the thread may end inside it
// (base/leaving.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "allocator/base/leaving.h"
#include "interpose/table/functions.h"

namespace vramscope {

// The result for our frames if the thread ends inside the call. The program never sees it.
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
  // The same without the check whether the thread is ending: for the first driver call that can
  // wait in a call of ours.
  CUresult first(Parameters... arguments) const {
    try {
      return function_(arguments...);
    } catch (...) {
      leaving::stop();
    }
    return kThreadLeft;
  }
  // For a call that is not part of ours: unwinding passes through it.
  [[nodiscard]] Pointer pointer() const noexcept { return function_; }
  // Whether the driver has the function.
  explicit operator bool() const noexcept { return function_ != nullptr; }
  friend bool operator==(const DriverFunction& one, std::nullptr_t) noexcept { return !one; }

 private:
  Pointer function_ = nullptr;
};

}  // namespace vramscope
