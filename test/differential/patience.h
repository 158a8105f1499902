// When a program of a sequence counts as one that hangs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace vramscope::differential {

// An alarm in so many seconds, times TIME_LIMITS: a machine may be slower, an emulated one is.
inline void alarm_within(unsigned seconds) {
  const char* const times = std::getenv("TIME_LIMITS");
  const int factor = times == nullptr ? 1 : std::atoi(times);
  alarm(factor > 1 ? seconds * static_cast<unsigned>(factor) : seconds);
}

}  // namespace vramscope::differential
