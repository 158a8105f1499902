// Limits are the allocator's settings as plain numbers; parsing them from text is done elsewhere.
// Names, defaults and meanings are PyTorch's (PYTORCH_CUDA_ALLOC_CONF) where it has them; where
// versions differ, 2.6 decides. Sizes are bytes here, MiB there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace vramscope {

// When what was submitted before a free is waited for: a property of an allocator for all its life.
enum class ReuseTime : std::uint8_t {
  at_free,   // by the free, as the driver's own does in practice
  at_reuse,  // by the allocation that is handed the block next
};

// How device memory is cut from segments, and which free block serves a request.
enum class Policy : std::uint8_t {
  // What the driver itself would serve is served: above 1 MiB each request has a segment of its own
  // class (a multiple of 2 MiB), which serves the same class again and is never cut; little stays
  // idle, and nothing when memory runs out. Blocks up to 1 MiB share segments of 2 MiB.
  native_safe,
  pytorch,  // PyTorch's own, which can run out of memory earlier than the driver would
};

struct Limits {
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t kLargeSegment = std::uint64_t{20} << 20;
  static constexpr std::size_t kIntervals = 16;  // powers of two from 1 MiB to 32 GiB
  static constexpr double kIdleShare = 0.125;    // test/bench/README.md has what others cost

  // Read when the allocator is made; changing it later has no effect.
  Policy policy = Policy::pytorch;
  // Policy::native_safe: segments without a live block may hold this share of the device's total
  // memory, [0, 1], and as much as is unused there. What is more goes back, old ones first, in the
  // free that made it more.
  double idle_share = kIdleShare;

  // Share of the device's total memory that segments of ours may take, [0, 1]; memory that the
  // program got directly does not count. Unset: no limit (which differs from 1.0: that is a limit
  // like any other).
  double memory_fraction = -1.0;
  // Out of memory at last: ask the driver for exactly the request (rounded to 2 MiB on a device).
  // Ours, not PyTorch's: a program must not fail with us where it runs without us.
  bool exact_fallback = true;

  // Requests from here on are oversize: served by a segment of their own, never split, and nobody
  // else gets their blocks. Keeps large blocks whole, hence available.
  std::uint64_t max_split_size = kUnlimited;
  // How much larger than an oversize request a cached block that serves it may be.
  std::uint64_t max_non_split_rounding = kLargeSegment;
  // Segment that requests from 1 to 10 MiB share.
  std::uint64_t large_segment_size = kLargeSegment;
  // Steps between neighbouring powers of two to which requests are rounded, by interval: [0] for
  // everything below 2 MiB, [1] from 2 MiB, … [15] from 32 GiB. 0 and 1: none.
  std::array<std::uint32_t, kIntervals> roundup_power2_divisions{};
  // Share of the memory limit above which old idle segments go back before new ones are asked for.
  // 0: off. Without a memory limit it has no effect.
  double garbage_collection_threshold = 0;
  // Segments that grow: addresses are reserved, pages are mapped where they are needed and unmapped
  // where nothing lies any more. Where the backend maps no memory segments stay plain.
  bool expandable_segments = false;
  // The same by pages of 2 MiB, mapped where the fewest are needed, and taken from where they lie
  // idle before more is reserved than was live at once, and a thirty-second of it. Ours, not
  // PyTorch's. Not together with the one above.
  bool growing_segments = false;
  // Refuse what would exceed the memory limit at once, without giving cached memory back first.
  bool throw_on_cudamalloc_oom = false;

  // Read when the allocator is made; changing it later has no effect. Placement is the same.
  ReuseTime reuse = ReuseTime::at_free;

  // Pinned memory: requests above are not rounded to a power of two (Policy::native_safe rounds
  // none so); blocks above are not kept (nor rounded).
  std::uint64_t pinned_max_round_threshold = kUnlimited;
  std::uint64_t pinned_max_cached_size = kUnlimited;

  // Whether ages of free blocks matter.
  [[nodiscard]] bool collects_garbage() const {
    return memory_fraction >= 0 && garbage_collection_threshold > 0;
  }
  [[nodiscard]] constexpr bool expands() const { return expandable_segments || growing_segments; }
  // Whether a request that a free block serves is treated as by default.
  [[nodiscard]] bool has_plain_hits() const {
    return !expands() && max_split_size == kUnlimited &&
           roundup_power2_divisions == decltype(roundup_power2_divisions){} && !collects_garbage();
  }
  // What of this the policy knows: the rest is at its default. A setting has an effect under a
  // policy when it is still there.
  [[nodiscard]] Limits under_policy() const {
    Limits known = *this;
    if (policy == Policy::pytorch) return known;
    known.exact_fallback = true;
    known.max_split_size = kUnlimited;
    known.max_non_split_rounding = kLargeSegment;
    known.large_segment_size = kLargeSegment;
    known.roundup_power2_divisions = {};
    known.expandable_segments = false;
    known.growing_segments = false;
    known.pinned_max_round_threshold = kUnlimited;
    return known;
  }
  friend bool operator==(const Limits&, const Limits&) = default;
};

}  // namespace vramscope
