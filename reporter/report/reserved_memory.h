// ReservedMemory says how much of what the allocator had of a device the program needs, and how
// much is idle: free memory that goes back to the driver when somebody asks for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramscope {

struct DeviceReport;
struct Report;
struct SegmentFacts;

// Needed is what is in use, freed blocks that may be in use yet among it, and what is free beside
// it in segments that go back whole. The rest of what is reserved is idle.
struct ReservedMemory {
  std::uint64_t peak = 0;  // reserved at most; of merged processes the sum of their peaks
  std::uint64_t now = 0;
  // What was needed at most at one time lies between these. Where large blocks are segments of
  // their own they differ by what is free in segments of 2 MiB; where large segments are cut, all
  // that was reserved may have been needed.
  std::uint64_t needed_least = 0;
  std::uint64_t needed_most = 0;
  std::optional<std::uint64_t> idle_now;  // nothing: not all segments are listed

  // Of the peak, at least: not more than needed_most was needed then.
  [[nodiscard]] std::uint64_t idle_at_peak() const { return peak - needed_most; }
};

// What blocks in use had at most, with their rounding; nothing: nobody counted it, as in files of
// other tools.
[[nodiscard]] std::optional<std::uint64_t> allocated_peak(const DeviceReport& device);

// Of plain memory.
[[nodiscard]] ReservedMemory reserved_memory(const Report& report, const DeviceReport& device);

// Whether large segments are cut: mode cache with PyTorch's policy.
[[nodiscard]] bool cuts_large_segments(const Report& report);

// Whether the free memory that the allocator keeps goes back, too, when other processes are seen to
// need it.
[[nodiscard]] bool yields_to_others(const Report& report);

// The last value of a setting in --alloc-conf; "": it is not set.
[[nodiscard]] std::string_view allocator_setting(const Report& report, std::string_view name);

// What of a free piece of a segment, `offset` after its beginning, can go back by itself: a whole
// segment, and of those that grow by pages whole pages.
[[nodiscard]] std::uint64_t returnable_bytes(const Report& report, const SegmentFacts& segment,
                                             std::uint64_t offset, std::uint64_t bytes);

}  // namespace vramscope
