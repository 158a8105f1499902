// SPDX-License-Identifier: Apache-2.0
#include "allocator/books/recount.h"

#include <algorithm>

#include "allocator/books/ledger.h"

namespace vramscope {
namespace {

// Returns the value that existed before the sums began.
std::int64_t base_of(const Stat& stat, bool was_reset) {
  return was_reset ? stat.current - (stat.allocated - stat.freed) : 0;
}

void fit(Stat& stat, std::int64_t current, bool was_reset) {
  const std::int64_t change = current - base_of(stat, was_reset);
  stat.allocated = std::max(stat.allocated, change);
  stat.freed = stat.allocated - change;
  stat.current = current;
  stat.peak = std::max(stat.peak, current);
}

// Computes the sum of both pools.
void add_up(PooledStat& stat) {
  stat.all.current = stat.small_pool.current + stat.large_pool.current;
  stat.all.allocated = stat.small_pool.allocated + stat.large_pool.allocated;
  stat.all.freed = stat.small_pool.freed + stat.large_pool.freed;
  stat.all.peak = std::max(stat.all.peak, stat.all.current);
}

}  // namespace

void fit(DeviceStatistics& statistics, const DeviceRecount& recount, bool was_reset) {
  const auto fit_level = [&](const LevelRecount& level, Stat PooledStat::*which) {
    level.each(statistics, [&](const char*, PooledStat& stat, std::int64_t value) {
      fit(stat.*which, value, was_reset);
    });
  };
  fit_level(recount.small, &PooledStat::small_pool);
  fit_level(recount.large, &PooledStat::large_pool);
  recount.all.each(statistics, [](const char*, PooledStat& stat, std::int64_t) { add_up(stat); });
}

void fit(HostStatistics& statistics, const LevelRecount& recount, bool was_reset) {
  recount.each_of_host(statistics, [&](const char*, Stat& stat, std::int64_t value) {
    fit(stat, value, was_reset);
  });
}

void LedgerRecount::add(std::size_t account, const BlockSnapshot& block) {
  if (block.state == BlockState::inactive) return;
  const bool is_given = block.state == BlockState::active_allocated;
  OfKind& kind = kinds[account];
  kind.live.add(block);
  kind.given += is_given;
  if (block.tag >= tags.size()) tags.resize(std::size_t{block.tag} + 1);
  tags[block.tag].pending += !is_given;
  (block.tag == 0 ? kind.unknown : tags[block.tag].live).add(block);
}

void BooksRecount::add(const Snapshot& snapshot) {
  for (const SegmentSnapshot& segment : snapshot.segments) {
    if (segment.place.kind == Kind::device) devices[segment.place.device].add(segment, snapshot);
    if (is_host(segment.place.kind)) host.add(segment, snapshot);
    const std::size_t account = Ledger::index_of(segment.place);
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      ledger.add(account, snapshot.blocks[segment.first_block + i]);
    }
  }
}

}  // namespace vramscope
