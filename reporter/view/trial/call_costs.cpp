// The times of an H200's driver (580.159.04), as medians of single calls: test/RESULTS.md names the
// machine. Between two sizes a call takes a time in between.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/call_costs.h"

#include <iterator>

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Timed {
  std::uint64_t bytes;
  std::uint64_t allocate_ns;
  std::uint64_t free_ns;
};
constexpr Timed kTimed[] = {{2 * kMiB, 47'000, 38'000},
                            {20 * kMiB, 46'000, 53'000},
                            {64 * kMiB, 70'000, 72'000},
                            {512 * kMiB, 85'000, 183'000},
                            {1024 * kMiB, 218'000, 585'000}};

// Of 64 pages of 2 MiB: create 1,001, map 350, access 1,669 us; unmap 1,450, release 1,024 us.
constexpr std::uint64_t kMapPageNs = 3'020'000 / 64;
constexpr std::uint64_t kUnmapPageNs = 2'474'000 / 64;

// A pair of cudaMallocHost and cudaFreeHost took 762 us for 1 MiB and 7,548 us for 16 MiB. Half of
// it counts for each.
constexpr std::uint64_t kPinNs = 155'000;
constexpr std::uint64_t kPinMiBNs = 226'000;

std::uint64_t timed(std::uint64_t bytes, std::uint64_t Timed::*time) {
  const Timed* above = kTimed;
  while (above != std::end(kTimed) && above->bytes < bytes) ++above;
  if (above == kTimed) return kTimed[0].*time;
  if (above == std::end(kTimed)) --above;
  const Timed& below = *(above - 1);
  const auto share =
      static_cast<double>(bytes - below.bytes) / static_cast<double>(above->bytes - below.bytes);
  const double from = static_cast<double>(below.*time);
  return static_cast<std::uint64_t>(from + (static_cast<double>(above->*time) - from) * share);
}

}  // namespace

std::uint64_t CallCosts::allocate(std::uint64_t bytes) const {
  return from == From::h200 ? timed(bytes, &Timed::allocate_ns) : allocate_ns;
}
std::uint64_t CallCosts::free(std::uint64_t bytes) const {
  return from == From::h200 ? timed(bytes, &Timed::free_ns) : free_ns;
}
std::uint64_t CallCosts::map(std::uint64_t pages) const {
  return pages * (from == From::h200 ? kMapPageNs : allocate_ns);
}
std::uint64_t CallCosts::unmap(std::uint64_t pages) const {
  return pages * (from == From::h200 ? kUnmapPageNs : free_ns);
}
std::uint64_t CallCosts::pin(std::uint64_t bytes) { return kPinNs + bytes / kMiB * kPinMiBNs; }

}  // namespace vramscope
