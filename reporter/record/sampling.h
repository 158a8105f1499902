// Sampling says which allocations get their call stack when not all of them do: chosen by bytes, at
// random.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "reporter/ground/axes.h"

namespace vramscope {

// The largest power of two in a request. All requests of a size class are chosen with the same
// probability, so that a site's totals by class can be told without bias: by exact division.
[[nodiscard]] constexpr std::uint64_t sampled_bytes(std::uint64_t bytes) {
  return std::bit_floor(bytes);
}

// `taken`, the sum over the chosen requests of a class, as an estimate of the sum over all of them:
// divided by their probability, which is sampled_bytes / every, at most 1. Rounded to the nearest;
// as much as fits.
[[nodiscard]] constexpr std::uint64_t estimate(std::uint64_t taken, std::uint8_t size_class,
                                               std::uint64_t every) {
  const unsigned shift = size_class == 0 ? 0 : size_class - 1U;
  const std::uint64_t weight = std::uint64_t{1} << (shift & 63);
  if (weight >= every) return taken;
  __extension__ using Wide = unsigned __int128;
  const Wide scaled = (Wide{taken} * every + weight / 2) / weight;
  return scaled > ~std::uint64_t{0} ? ~std::uint64_t{0} : static_cast<std::uint64_t>(scaled);
}

// Chance, a number of 64 bits a step (splitmix64).
// Threads: one.
class Chance {
 public:
  constexpr explicit Chance(std::uint64_t seed) : state_(seed) {}

  // Whether a request of `bytes` is chosen, one in `every` bytes on average; those of at least
  // `every` bytes always are. every: not 0.
  [[nodiscard]] constexpr bool takes(std::uint64_t bytes, std::uint64_t every) noexcept {
    const std::uint64_t weight = sampled_bytes(bytes);
    return weight >= every || below(every) < weight;
  }

 private:
  // Below `limit`, each as likely as the others to one part in 2^64 / limit. A division would take
  // as long as all the rest.
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

// The same by the calling thread's own chance. Threads: any.
[[nodiscard]] Sampling choose(std::uint64_t bytes, std::uint64_t every) noexcept;

}  // namespace vramscope
