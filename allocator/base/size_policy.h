// The size policy says how a request is rounded, which pool serves it, and how large segments are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "allocator/base/fault.h"
#include "allocator/base/limits.h"

namespace vramscope {

// PyTorch's numbers (c10/cuda/CUDACachingAllocator.cpp, version 2.6), default settings:
//
//   request                block              pool    new segment            split when the rest is
//   1 B      .. 512 B      512 B              small   2 MiB                  >= 512 B
//   513 B    .. 1 MiB      multiple of 512 B  small   2 MiB                  >= 512 B
//   1 MiB+1  .. 10 MiB-512 multiple of 512 B  large   20 MiB                 > 1 MiB
//   above    .. 2^60-1     multiple of 512 B  large   block, up to 2 MiB     > 1 MiB
//   0, 2^60 and more       refused
//
// Policy::native_safe differs above 1 MiB:
//
//   1 MiB+1  .. 2^60-1     multiple of 2 MiB  large   block                  never
//
// The driver packs requests up to 1 MiB into chunks of 2 MiB and rounds larger ones up to 2 MiB, as
// measured on an H200 and published before. So such a segment takes as much memory as the request
// would without us.
inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;

inline constexpr std::uint64_t kUnit = 512;               // every block is a multiple of it
inline constexpr std::uint64_t kSmallRequest = kMiB;      // largest block of the small pool
inline constexpr std::uint64_t kSmallSegment = 2 * kMiB;  // also the driver's granularity
inline constexpr std::uint64_t kLargeSegment = Limits::kLargeSegment;
inline constexpr std::uint64_t kOwnSegment =
    10 * kMiB;  // requests from here on get a segment of their own
inline constexpr std::uint64_t kGranularity = 2 * kMiB;  // of segments of their own
inline constexpr std::uint64_t kRefused = 1ull << 60;    // "more than 1EB"
inline constexpr std::uint64_t kLargeRestAtMost = kMiB;  // a smaller rest stays with its block

enum class PoolClass : std::uint8_t { large, small };

// `step` is a power of two; `bytes` + `step` must not overflow.
[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) & ~(step - 1);
}

// Returns the size of the block that serves a request of 0 < `bytes` < kRefused.
[[nodiscard]] constexpr std::uint64_t round_request(std::uint64_t bytes) {
  return round_up(bytes, kUnit);
}

// Returns the size class of a request that exceeds kSmallRequest when rounded: the size to which
// the driver rounds it.
[[nodiscard]] constexpr std::uint64_t class_bytes(std::uint64_t rounded) {
  return round_up(rounded, kGranularity);
}

// The same under a policy and roundup_power2_divisions, which makes fewer distinct sizes. Steps are
// never below kUnit, because divisions act only on requests above kUnit a step.
[[nodiscard]] constexpr std::uint64_t round_request(std::uint64_t bytes, const Limits& limits) {
  if (limits.policy == Policy::native_safe) {
    const std::uint64_t rounded = round_request(bytes);
    return rounded <= kSmallRequest ? rounded : class_bytes(rounded);
  }
  const int above = std::bit_width(bytes) - std::bit_width(kMiB);
  const auto interval = static_cast<std::size_t>(std::clamp<int>(above, 0, Limits::kIntervals - 1));
  const std::uint64_t divisions = limits.roundup_power2_divisions[interval];
  if (divisions <= 1 || bytes <= kUnit * divisions) return round_request(bytes);
  return round_up(bytes, std::bit_floor(bytes) / divisions);
}

// Returns the pool for a rounded size. The small pool includes the bound.
[[nodiscard]] constexpr PoolClass pool_class(std::uint64_t rounded) {
  return rounded <= kSmallRequest ? PoolClass::small : PoolClass::large;
}

// Returns the size of the segment that is requested when no free block fits.
[[nodiscard]] constexpr std::uint64_t segment_bytes(std::uint64_t rounded, const Limits& limits) {
  if (rounded <= kSmallRequest) return kSmallSegment;
  if (limits.policy == Policy::native_safe) return rounded;
  if (rounded < kOwnSegment) return limits.large_segment_size;
  return round_up(rounded, kGranularity);
}

// Returns the size of the smallest segment that could serve it, the last one that is requested
// (Limits::exact_fallback).
[[nodiscard]] constexpr std::uint64_t least_segment_bytes(std::uint64_t rounded) {
  return round_up(rounded, kGranularity);
}

// An oversize block is never cut, and an oversize request never gets a part of a block.
[[nodiscard]] constexpr bool is_oversize(std::uint64_t bytes, const Limits& limits) {
  return bytes >= limits.max_split_size;
}

// Whether the best free block, of `block` bytes, may serve a request. No other block is tried.
[[nodiscard]] inline bool may_serve(std::uint64_t block, std::uint64_t rounded,
                                    const Limits& limits) {
  if (limits.policy == Policy::native_safe) {
    return block == rounded || rounded <= kSmallRequest || fault(Fault::larger_block_serves);
  }
  if (!is_oversize(rounded, limits)) return !is_oversize(block, limits);
  return block - rounded < limits.max_non_split_rounding;
}

// Whether a block is cut for a request if `rest` bytes of it would remain.
[[nodiscard]] constexpr bool worth_splitting(PoolClass pool, std::uint64_t rest) {
  return pool == PoolClass::small ? rest >= kUnit : rest > kLargeRestAtMost;
}
[[nodiscard]] constexpr bool worth_splitting(PoolClass pool, std::uint64_t rounded,
                                             std::uint64_t rest, const Limits& limits) {
  if (limits.expands()) return rest >= kUnit;
  if (pool == PoolClass::large && is_oversize(rounded, limits)) return false;
  return worth_splitting(pool, rest);
}

// Pinned memory under Policy::native_safe:
//
//   request                block                segment        cut
//   1 B      .. 1 MiB      multiple of 4 KiB    up to 2 MiB    always
//   1 MiB+1  .. 2^60-1     multiple of 4 KiB    block          while little of the host is pinned
//
// Pinned blocks are whole pages, because programs may pass them to system calls that require it.
inline constexpr std::uint64_t kHostPage = 4 * kKiB;
// Pinned memory may exceed the program's highest use by one part in this many, or by 2 MiB, before
// idle segments go back for a new one. An idle segment may exceed the request that it serves uncut
// by the same share.
inline constexpr std::uint64_t kPinnedSpareParts = 16;
// An idle segment above 2 MiB is cut only while we have pinned at most one part in this many of the
// host's memory. This bounds the memory that live blocks keep from going back.
inline constexpr std::uint64_t kPinnedCutParts = 4;

[[nodiscard]] constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
  return round_up(bytes, kHostPage);
}

// Returns the size of the pinned segment for a block when the small pool's segments hold
// `small_bytes` already. They double in size, so that a program with little pinned memory gets
// little.
[[nodiscard]] constexpr std::uint64_t pinned_segment_bytes(std::uint64_t rounded,
                                                           std::uint64_t small_bytes) {
  if (rounded > kSmallRequest) return rounded;
  return std::clamp(small_bytes, rounded, kSmallSegment);
}

// Returns the size of the pinned segment under PyTorch's policy: a power of two, so that blocks fit
// again.
[[nodiscard]] constexpr std::uint64_t pinned_bytes(std::uint64_t bytes, const Limits& limits) {
  const bool as_asked =
      bytes > limits.pinned_max_round_threshold || bytes > limits.pinned_max_cached_size;
  return as_asked ? bytes : std::bit_ceil(bytes);
}

}  // namespace vramscope
