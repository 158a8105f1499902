// sampled_free() says what a GPU had free when the program was last seen to ask, and what changed
// since.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace vramscope {

struct Report;

struct SampledFree {
  std::uint64_t bytes = 0;
  std::uint64_t age_ns = 0;  // before the report was written
  // Of kinds that the driver serves itself, at least: given back to it since, or taken.
  std::uint64_t back_since = 0;
  std::uint64_t taken_since = 0;

  // As far as is known.
  [[nodiscard]] std::uint64_t now() const {
    const std::uint64_t most = bytes + back_since;
    return most - (taken_since < most ? taken_since : most);
  }
};

// Nothing: nobody asked, or the report is of several processes.
[[nodiscard]] std::optional<SampledFree> sampled_free(const Report& report, std::uint16_t device);

}  // namespace vramscope
