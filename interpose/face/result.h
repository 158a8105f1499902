// What the functions of vramscope.h share: result codes, and devices by ordinal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/face/vramscope.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

#include "allocator/base/place.h"
#include "interpose/base/guard.h"
#include "interpose/loader/real.h"

namespace vramscope {

// Runs body() and converts our failures to result codes.
template <class Body>
int with_codes(Body body) noexcept {
  // Inside another call of ours this thread may hold a lock that the body needs.
  if (is_guarded(&body)) return VRAMSCOPE_NOT_ACTIVE;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return VRAMSCOPE_OUT_OF_MEMORY;
  }
}

// Returns nothing if the device does not exist. Only while there is a profiler.
[[nodiscard]] inline std::optional<std::uint16_t> find_device(int device) {
  int count = 0;
  CUdevice current = 0;
  if (real().cuDeviceGetCount(&count) != CUDA_SUCCESS) return std::nullopt;
  if (device == VRAMSCOPE_CURRENT_DEVICE) {
    device = real().cuCtxGetDevice(&current) == CUDA_SUCCESS ? current : 0;
  }
  const bool exists =
      device >= 0 && device < count && static_cast<std::size_t>(device) < kMaxDevices;
  return exists ? std::optional(static_cast<std::uint16_t>(device)) : std::nullopt;
}

}  // namespace vramscope
