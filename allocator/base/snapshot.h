// A snapshot describes, in plain structs, everything that the allocator knows at one instant.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/base/history.h"
#include "allocator/base/limits.h"
#include "allocator/base/named_enum.h"
#include "allocator/base/place.h"
#include "allocator/base/rows.h"
#include "allocator/base/statistics.h"

namespace vramscope {

// Reports use these names, which are PyTorch's.
#define VRAMSCOPE_BLOCK_STATES(X) X(active_allocated) X(active_pending_free) X(inactive)
VRAMSCOPE_NAMED_ENUM(BlockState, std::uint8_t, VRAMSCOPE_BLOCK_STATES);

// A part of a segment. Blocks tile their segment: each begins where the one before ends.
struct BlockSnapshot {
  Address address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested_size = 0;  // bytes asked for; a free block keeps those of its last life
  Tag tag = 0;                       // who asked; 0 for free blocks
  BlockState state = BlockState::inactive;
  std::uint64_t born_ns = 0;  // active_allocated: when; 0: not known
  std::uint64_t born = 0;     // the same as the number of its allocation, among all of the run
};

// Memory obtained from the driver in one call; pages of a reservation that follow each other are
// one.
struct SegmentSnapshot {
  Place place;
  Address address = 0;
  std::uint64_t total_size = 0;
  std::uint64_t allocated_size = 0;  // bytes of blocks in state active_allocated
  std::uint64_t active_size = 0;     // bytes of blocks that are not inactive
  std::uint64_t requested_size = 0;  // requested bytes of the active blocks
  bool is_small = false;             // size class of the pool
  bool is_expandable = false;        // a backed part of a reservation, between parts without memory
  bool is_direct = false;            // the program got it from the driver itself: one block
  bool is_dedicated = false;         // of ours, for one block: never cut, reused for the same bytes
  bool is_exported = false;          // others may reach it: goes back when its block is free
  std::uint32_t first_block = 0;     // index into Snapshot::blocks
  std::uint32_t block_count = 0;
};

// Life times in decades: under 1 us, under 10 us, ... under 100 s, longer. From the beginning of
// the allocating call to that of the freeing one.
inline constexpr std::size_t kLifetimes = 10;
using Lifetimes = std::array<std::uint32_t, kLifetimes>;

// Totals of one tag, changed in the same critical section as the counters. Bytes are requested
// bytes. peak_*: what the tag held at the instant of its (kind, device)'s peak of requested bytes.
struct TagTotals {
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_count = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t total_count = 0;
  std::uint64_t joint_bytes = 0;  // held at its device's peak in Snapshot::joint_peaks; else 0
  std::uint64_t joint_count = 0;
  Lifetimes lifetimes{};  // of what was freed
  History history{};      // live bytes; all tags that joined groups have the same intervals
};

// Totals of one kind of memory on one device (device 0 for host kinds). Bytes are requested bytes.
struct KindTotals {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t current_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t allocations = 0;  // calls that allocated
  std::uint64_t frees = 0;        // calls that freed
  std::uint64_t peak_ns = 0;      // when the peak was reached
  Tag peak_tag = 0;               // by whose allocation
};

// How the bytes of one kind on one device went: the bucket i begins i * bucket_ns after start_ns.
struct TimelineSnapshot {
  static constexpr std::size_t kMostBuckets = 256;
  static constexpr unsigned kFirstWidthBits = 13;  // 8 us, so that a run of 2 ms is told in full

  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t bucket_ns = 0;
  std::vector<std::uint64_t> highest;  // at any instant of the bucket
  std::vector<std::uint64_t> last;     // at its end
};

struct DeviceSnapshot {
  std::uint16_t device = 0;
  DeviceStatistics statistics;
};

// What the program holds of a device's memory: requested bytes of all kinds.
struct DeviceUse {
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_bytes = 0;  // the peaks of its kinds, added
};

// How much of a device may be used, in bytes, and how much is.
struct DeviceCapacity {
  std::uint64_t limit = Limits::kUnlimited;
  std::uint64_t held = 0;      // segments of ours, idle ones too, and direct memory of every kind;
                               // where the device's memory is the host's, pinned memory, too
  std::uint64_t managed = 0;   // of those, managed memory whose pages give way to other memory
  std::uint64_t kept = 0;      // beside those, by the driver for this process's contexts and code
  std::uint64_t refusals = 0;  // requests that found no room, idle segments given back
  std::uint64_t rounding = 0;  // that the driver takes beyond `held`, which comes in whole pages
  std::uint64_t in_pools = 0;  // of `held` and `rounding`, stream-ordered memory
  bool is_hosts = false;       // the device's memory is the host's
  // What counts against the limit: whole pages, as on a device of that size.
  [[nodiscard]] std::uint64_t counted() const { return held - managed + rounding + kept; }
};

// Taken under one lock: totals always agree with the blocks.
struct Snapshot {
  std::vector<DeviceSnapshot> devices;  // those ever used, by ordinal
  HostStatistics host;
  bool host_used = false;
  std::vector<KindTotals> kinds;  // those ever used
  // All memory of a device, as if it were of one kind: of devices that had several, where the
  // ledger has followed them from the second kind on. By device, without calls.
  std::vector<KindTotals> joint_peaks;
  std::vector<SegmentSnapshot> segments;    // by (kind, device, address)
  std::vector<BlockSnapshot> blocks;        // by segment, then address
  Rows<TagTotals> tags;                     // index = Tag
  std::vector<std::uint64_t> group_peaks;   // index = Group: most that its tags held together
  std::vector<TimelineSnapshot> timelines;  // of `kinds`, in the same order
  std::uint64_t start_ns = 0;               // from which all times count
  std::uint64_t allocations = 0;            // of all kinds: the number of the last one
  std::uint64_t taken_ns = 0;               // of the last one
};

}  // namespace vramscope
