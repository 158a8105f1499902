// A recount computes the current value of every counter from the segments and blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/base/place.h"
#include "allocator/base/snapshot.h"
#include "allocator/base/statistics.h"

namespace vramscope {

// The recount of one level: all memory of a device, one of its pools, or the host.
struct LevelRecount {
  std::int64_t segment = 0, reserved_bytes = 0, allocation = 0, allocated_bytes = 0;
  std::int64_t active = 0, active_bytes = 0, requested_bytes = 0;
  std::int64_t inactive_split = 0, inactive_split_bytes = 0;

  void add(const SegmentSnapshot& s, const Snapshot& snapshot) {
    segment += !s.is_expandable;
    reserved_bytes += static_cast<std::int64_t>(s.total_size);
    allocated_bytes += static_cast<std::int64_t>(s.allocated_size);
    active_bytes += static_cast<std::int64_t>(s.active_size);
    requested_bytes += static_cast<std::int64_t>(s.requested_size);
    for (std::uint32_t i = 0; i < s.block_count; ++i) {
      const BlockSnapshot& block = snapshot.blocks[s.first_block + i];
      allocation += block.state == BlockState::active_allocated;
      active += block.state != BlockState::inactive;
      if (block.state != BlockState::inactive || s.block_count == 1) continue;
      if (s.is_expandable) continue;
      ++inactive_split;
      inactive_split_bytes += static_cast<std::int64_t>(block.size);
    }
  }

  // Calls f(name, counter, value) for each counter of a level of one device.
  template <class Statistics, class F>
  void each(Statistics& s, F&& f) const {
    f("segment", s.segment, segment);
    f("reserved_bytes", s.reserved_bytes, reserved_bytes);
    f("allocation", s.allocation, allocation);
    f("allocated_bytes", s.allocated_bytes, allocated_bytes);
    f("active", s.active, active);
    f("active_bytes", s.active_bytes, active_bytes);
    f("requested_bytes", s.requested_bytes, requested_bytes);
    f("inactive_split", s.inactive_split, inactive_split);
    f("inactive_split_bytes", s.inactive_split_bytes, inactive_split_bytes);
  }
  // The same for the host.
  template <class Statistics, class F>
  void each_of_host(Statistics& s, F&& f) const {
    f("segment", s.segment, segment);
    f("reserved_bytes", s.reserved_bytes, reserved_bytes);
    f("allocated", s.allocated, allocation);
    f("allocated_bytes", s.allocated_bytes, allocated_bytes);
    f("active_requests", s.active_requests, active);
    f("active_bytes", s.active_bytes, active_bytes);
  }
};

struct DeviceRecount {
  LevelRecount all, small, large;

  void add(const SegmentSnapshot& segment, const Snapshot& snapshot) {
    all.add(segment, snapshot);
    (segment.is_small ? small : large).add(segment, snapshot);
  }
};

struct LedgerRecount {
  struct Amount {
    std::uint64_t bytes = 0;  // requested
    std::uint64_t count = 0;
    void add(const BlockSnapshot& block) {
      bytes += block.requested_size;
      ++count;
    }
  };
  struct OfKind {
    Amount live;              // blocks that are not free
    Amount unknown;           // of `live`, those of tag 0
    std::uint64_t given = 0;  // of `live`, those that the program holds
  };
  struct OfTag {
    Amount live;
    std::uint64_t pending = 0;  // of `live`, those that the program has freed
  };
  std::vector<OfTag> tags;                           // by Tag; [0] is empty
  std::array<OfKind, kKinds * kMaxDevices> kinds{};  // by Ledger::index_of()

  // May throw bad_alloc.
  void add(std::size_t account, const BlockSnapshot& block);
};

struct BooksRecount {
  std::array<DeviceRecount, kMaxDevices> devices{};
  LevelRecount host;
  LedgerRecount ledger;

  // Adds all segments of a snapshot. May throw bad_alloc.
  void add(const Snapshot& snapshot);
};

// Makes the statistics of a process that died inside a call agree with the recount: current values
// become the recounted ones, `allocated` stays, and `freed` follows. Without a reset (`was_reset`)
// freed is allocated minus current.
void fit(DeviceStatistics& statistics, const DeviceRecount& recount, bool was_reset);
void fit(HostStatistics& statistics, const LevelRecount& recount, bool was_reset);

}  // namespace vramscope
