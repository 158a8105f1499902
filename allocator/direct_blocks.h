// Direct blocks record memory that the program got from the driver, by address or handle.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "allocator/base/place.h"

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

  // Adds a block that overlaps no other. Returns nullptr if memory is exhausted.
  [[nodiscard]] DirectBlock* add(Address address, const DirectBlock& block) noexcept;
  DirectBlock remove(Kind kind, Address address) noexcept;  // must exist

  [[nodiscard]] const Entry* find(Kind kind, Address address) const noexcept;  // exact
  // Finds the block around an address, or the block of a handle.
  [[nodiscard]] const Entry* find_around(Space space, Address address) const noexcept;
  // Finds the lowest block that overlaps the range; for handles, the same handle.
  [[nodiscard]] const Entry* find_overlapping(Space space, Address address,
                                              std::uint64_t bytes) const noexcept;
  // Finds the lowest block of a place whose address is at least `from`.
  [[nodiscard]] const Entry* find_of(Place where, Address from) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] const std::array<OfSpace, kSpaces>& all() const { return spaces_; }

 private:
  [[nodiscard]] const OfSpace& of(Space space) const {
    return spaces_[static_cast<std::size_t>(space)];
  }

  std::array<OfSpace, kSpaces> spaces_;
  OfSpace::node_type spare_;  // of the last removed block, reused without malloc
};

}  // namespace vramscope
