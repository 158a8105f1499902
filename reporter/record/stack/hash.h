// mix() is the hash function of the recorder's tables. It is short, and equal in every run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

inline constexpr std::uint64_t kHashSeed = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio

// Returns the folded 128-bit product, as in wyhash: each input bit reaches each output bit.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t a,
                                          std::uint64_t b = 0) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ a) * (b ^ 0xa0761d6478bd642fULL);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^
         kHashSeed;
}

}  // namespace vramscope
