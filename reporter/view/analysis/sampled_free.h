// sampled_free() returns how much of a GPU was free when the program last asked, and what has
// changed since.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace vramscope {

struct Report;

struct SampledFree {
  std::uint64_t bytes = 0;
  std::uint64_t age_ns = 0;  // before the report was written
  // Lower bounds for kinds that the driver itself serves: given back to it since, or taken.
  std::uint64_t back_since = 0;
  std::uint64_t taken_since = 0;

  // Returns the present value, as far as it is known.
  [[nodiscard]] std::uint64_t now() const {
    const std::uint64_t most = bytes + back_since;
    return most - (taken_since < most ? taken_since : most);
  }
};

// Returns nothing if nobody asked, or the report is of several processes.
[[nodiscard]] std::optional<SampledFree> sampled_free(const Report& report, std::uint16_t device);

}  // namespace vramscope
