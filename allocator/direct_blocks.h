// Direct blocks are memory that the program got from the driver itself, kept by address or handle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "allocator/ground/place.h"

namespace vramscope {

struct DirectBlock {
  std::uint64_t bytes = 0;
  std::uint64_t serial = 0;  // number of the allocation
  Place where;
  Tag tag = 0;
  std::uint32_t listed = 0;  // slot of ListedSegments
};

// Threads: one at a time.
class DirectBlocks {
 public:
  using OfSpace = std::map<Address, DirectBlock>;
  using Entry = OfSpace::value_type;

  // Nothing overlaps it. nullptr: out of memory.
  [[nodiscard]] DirectBlock* add(Address address, const DirectBlock& block) noexcept;
  DirectBlock remove(Kind kind, Address address) noexcept;  // one that is there

  [[nodiscard]] const Entry* find(Kind kind, Address address) const noexcept;  // exact
  // The one that the address lies in; handles stand for themselves.
  [[nodiscard]] const Entry* find_around(Space space, Address address) const noexcept;
  // The lowest that has a byte in common with so many; of handles the same one.
  [[nodiscard]] const Entry* find_overlapping(Space space, Address address,
                                              std::uint64_t bytes) const noexcept;
  // The lowest of a place from an address on.
  [[nodiscard]] const Entry* find_of(Place where, Address from) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] const std::array<OfSpace, kSpaces>& all() const { return spaces_; }

 private:
  [[nodiscard]] const OfSpace& of(Space space) const {
    return spaces_[static_cast<std::size_t>(space)];
  }

  std::array<OfSpace, kSpaces> spaces_;
  OfSpace::node_type spare_;  // of the last one that was removed: no malloc
};

}  // namespace vramscope
