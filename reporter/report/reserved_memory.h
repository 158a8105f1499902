// ReservedMemory says how much of a device's reserved memory the program needs, and how much is
// idle: free memory that goes back to the driver on demand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramscope {

struct DeviceReport;
struct Report;
struct SegmentFacts;

// Needed memory is in use, including freed blocks that may still be in use and free memory next to
// them in segments that go back only as a whole. The rest of the reserved memory is idle.
struct ReservedMemory {
  std::uint64_t peak = 0;  // of merged processes the sum of their peaks
  std::uint64_t now = 0;
  // The most that was needed at one time lies between these. If large blocks have segments of their
  // own, the two differ by the free memory in segments of 2 MiB. If large segments are cut,
  // everything that was reserved may have been needed.
  std::uint64_t needed_least = 0;
  std::uint64_t needed_most = 0;
  std::optional<std::uint64_t> idle_now;  // nothing: not all segments are listed

  // Returns at least what was idle at the peak: no more than needed_most was needed then.
  [[nodiscard]] std::uint64_t idle_at_peak() const { return peak - needed_most; }
};

// Returns the peak of blocks in use, with their rounding, or nothing if it was not counted, as in
// other tools' files.
[[nodiscard]] std::optional<std::uint64_t> allocated_peak(const DeviceReport& device);

// Counts plain device memory.
[[nodiscard]] ReservedMemory reserved_memory(const Report& report, const DeviceReport& device);

// What was reserved of a device at one time for all kinds of memory together, at its most: segments
// of the allocator, and what the driver itself served, in whole pages as far as they were counted.
// `most`: the kinds peaked together. `least`: what one of them alone had, or all of them at the
// report.
struct ReservedOfAllKinds {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};
// Takes a report of one process.
[[nodiscard]] ReservedOfAllKinds reserved_of_all_kinds(const Report& report, std::uint16_t device);

// Returns whether large segments are cut: mode cache with PyTorch's policy.
[[nodiscard]] bool cuts_large_segments(const Report& report);

// Returns whether free memory of the allocator also goes back when other processes are seen to need
// it.
[[nodiscard]] bool yields_to_others(const Report& report);

// Returns the last value of a setting in --alloc-conf, or "" if it is not set.
[[nodiscard]] std::string_view allocator_setting(const Report& report, std::string_view name);

// Returns how many bytes of a free piece of a segment, `offset` bytes after its beginning, can go
// back alone: a whole segment, or whole pages of a segment that grows by pages.
[[nodiscard]] std::uint64_t returnable_bytes(const Report& report, const SegmentFacts& segment,
                                             std::uint64_t offset, std::uint64_t bytes);

}  // namespace vramscope
