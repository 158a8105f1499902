// The allocator's settings as plain numbers; parsing them from text is somebody else's work.
// Names, defaults and meanings are PyTorch's (PYTORCH_CUDA_ALLOC_CONF, version 2.6).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace vramscope {

struct Limits {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  // Share of the device's total memory that segments may take, [0, 1]. Unset: no limit (which
  // differs from 1.0: that is a limit like any other).
  double memory_fraction = -1.0;
  // Out of memory at last: ask the driver for exactly the request rounded to 2 MiB. Ours, not
  // PyTorch's: a program must not fail with us where it runs without us.
  bool exact_fallback = true;
};

}  // namespace vramscope
