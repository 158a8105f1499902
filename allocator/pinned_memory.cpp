// SPDX-License-Identifier: Apache-2.0
#include "allocator/pinned_memory.h"

#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace vramscope {

PinnedPlace* PinnedMemory::add(Place where) noexcept try {
  const std::optional<std::uint16_t> slot = places.free_slot();
  auto place = slot ? std::make_unique<PinnedPlace>(where, *slot) : nullptr;
  if (!place || !place->pools.prepare(blocks.size())) return nullptr;
  return places.add(std::move(place));
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool PinnedMemory::prepare() noexcept {
  if (blocks.is_prepared()) return true;
  for (const auto& place : places) {
    if (place && !place->pools.prepare(blocks.next_size())) return false;
  }
  return blocks.prepare();
}

PinnedMemory::Segments::const_iterator PinnedMemory::segment_around(
    Address address) const noexcept {
  const auto above = segments.upper_bound(address);
  if (above == segments.begin()) return segments.end();
  const auto it = std::prev(above);
  return address - it->first < it->second.bytes ? it : segments.end();
}

BlockIndex PinnedMemory::block_around(Address address) const noexcept {
  const auto it = segment_around(address);
  if (it == segments.end()) return kNoBlock;
  const BlockIndex exact = blocks.find(address);  // the usual question
  if (exact != kNoBlock) return exact;
  BlockIndex i = it->second.first;
  while (address - blocks[i].address() >= to_bytes(blocks[i].size)) i = blocks[i].next;
  return i;
}

bool PinnedMemory::overlaps(Address address, std::uint64_t bytes) const noexcept {
  const auto above = segments.lower_bound(address);
  if (above != segments.end() && above->first < address + bytes) return true;
  return segment_around(address) != segments.end();
}

PinnedMemory::Segments::iterator PinnedMemory::oldest_idle() noexcept {
  auto oldest = segments.end();
  for (auto it = segments.begin(); it != segments.end(); ++it) {
    if (!is_idle(it->second)) continue;
    if (oldest == segments.end() || age(it->second) > age(oldest->second)) oldest = it;
  }
  return oldest;
}

}  // namespace vramscope
