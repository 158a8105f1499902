// Sampling decides which allocations get a call stack if not all of them do. The choice is random,
// weighted by bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "reporter/base/axes.h"

namespace vramscope {

// Returns the largest power of two in a request. All requests of a size class are chosen with equal
// probability, so an exact division estimates a site's totals by class without bias.
[[nodiscard]] constexpr std::uint64_t sampled_bytes(std::uint64_t bytes) {
  return std::bit_floor(bytes);
}

// Estimates the sum over all requests of a class from `taken`, the sum over the chosen ones: it
// divides by their probability, which is sampled_bytes / every and at most 1. The result is rounded
// to the nearest integer and saturates.
[[nodiscard]] constexpr std::uint64_t estimate(std::uint64_t taken, std::uint8_t size_class,
                                               std::uint64_t every) {
  const unsigned shift = size_class == 0 ? 0 : size_class - 1U;
  const std::uint64_t weight = std::uint64_t{1} << (shift & 63);
  if (weight >= every) return taken;
  __extension__ using Wide = unsigned __int128;
  const Wide scaled = (Wide{taken} * every + weight / 2) / weight;
  return scaled > ~std::uint64_t{0} ? ~std::uint64_t{0} : static_cast<std::uint64_t>(scaled);
}

// Chance is a generator of 64-bit random numbers (splitmix64).
// Threads: one.
class Chance {
 public:
  constexpr explicit Chance(std::uint64_t seed) : state_(seed) {}

  // Returns whether a request of `bytes` is chosen: on average one request in each `every` bytes,
  // and every request of at least `every` bytes. every: not 0.
  [[nodiscard]] constexpr bool takes(std::uint64_t bytes, std::uint64_t every) noexcept {
    const std::uint64_t weight = sampled_bytes(bytes);
    return weight >= every || below(every) < weight;
  }

 private:
  // Returns a number below `limit`. All are equally likely to one part in 2^64 / limit. A
  // multiplication is used because a division would take as long as everything else here.
  constexpr std::uint64_t below(std::uint64_t limit) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{next()} * limit >> 64);
  }
  constexpr std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
  }

  std::uint64_t state_;
};

// Makes the same choice with the calling thread's own generator. Threads: any.
[[nodiscard]] Sampling choose(std::uint64_t bytes, std::uint64_t every) noexcept;

}  // namespace vramscope
