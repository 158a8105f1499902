// Deliberate faults of builds that prove the tests; in all others they cost nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

enum class Fault : std::uint8_t {
  none,
#define FAULT(name, text) name,
#include "allocator/base/faults.def"
};

#ifdef VRAMSCOPE_FAULTS
inline constinit Fault chosen_fault = Fault::none;  // set once, when the library is loaded
[[nodiscard]] inline bool fault(Fault one) { return chosen_fault == one; }
#else
[[nodiscard]] constexpr bool fault(Fault) { return false; }
#endif

}  // namespace vramscope
