// SPDX-License-Identifier: Apache-2.0
#include "allocator/direct_blocks.h"

#include <iterator>
#include <new>
#include <utility>

namespace vramscope {

DirectBlock* DirectBlocks::add(Address address, const DirectBlock& block) noexcept {
  OfSpace& blocks = spaces_[static_cast<std::size_t>(space_of(block.where.kind))];
  if (spare_) {
    spare_.key() = address;
    spare_.mapped() = block;
    return &blocks.insert(std::move(spare_)).position->second;
  }
  try {
    return &blocks.emplace(address, block).first->second;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

DirectBlock DirectBlocks::remove(Kind kind, Address address) noexcept {
  OfSpace& blocks = spaces_[static_cast<std::size_t>(space_of(kind))];
  spare_ = blocks.extract(blocks.find(address));
  return spare_.mapped();
}

const DirectBlocks::Entry* DirectBlocks::find(Kind kind, Address address) const noexcept {
  const OfSpace& blocks = of(space_of(kind));
  const auto it = blocks.find(address);
  return it == blocks.end() ? nullptr : &*it;
}

const DirectBlocks::Entry* DirectBlocks::find_around(Space space, Address address) const noexcept {
  const OfSpace& blocks = of(space);
  const auto above = blocks.upper_bound(address);
  if (above == blocks.begin()) return nullptr;
  const auto it = std::prev(above);
  const Address offset = address - it->first;
  return (has_ranges(space) ? offset < it->second.bytes : offset == 0) ? &*it : nullptr;
}

const DirectBlocks::Entry* DirectBlocks::find_overlapping(Space space, Address address,
                                                          std::uint64_t bytes) const noexcept {
  if (const Entry* first = find_around(space, address)) return first;
  const OfSpace& blocks = of(space);
  const auto above = blocks.lower_bound(address);
  const bool overlaps =
      has_ranges(space) && above != blocks.end() && above->first < address + bytes;
  return overlaps ? &*above : nullptr;
}

const DirectBlocks::Entry* DirectBlocks::find_of(Place where, Address from) const noexcept {
  const OfSpace& blocks = of(space_of(where.kind));
  auto it = blocks.lower_bound(from);
  while (it != blocks.end() && it->second.where != where) ++it;
  return it == blocks.end() ? nullptr : &*it;
}

std::size_t DirectBlocks::size() const noexcept {
  std::size_t count = 0;
  for (const OfSpace& blocks : spaces_) count += blocks.size();
  return count;
}

}  // namespace vramscope
