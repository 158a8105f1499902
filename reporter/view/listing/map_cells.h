// The functions here draw segments as rows of characters, each of which stands for equally many
// bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// What most of a character's bytes are, or the one thing in them that matters most.
enum class Cell : std::uint8_t {
  used,        // one block in use
  other_used,  // the same; neighbours alternate, so that blocks can be told apart
  partly,      // blocks that are smaller than a character, or a part of it is free
  pending,     // freed, but perhaps in use yet
  free,
  pin,  // the block that pins the segment
};

// A power of two such that `largest` bytes take at most `most` characters.
[[nodiscard]] std::uint64_t bytes_of_cell(std::uint64_t largest, std::size_t most);

// The segment's cells; at least one, at most as many as its bytes make.
[[nodiscard]] std::vector<Cell> cells_of(const MapSegment& segment, std::uint64_t bytes_per_cell);

// The characters of cells [first, first + count), coloured where the page has colours.
[[nodiscard]] std::string drawn(const std::vector<Cell>& cells, std::size_t first,
                                std::size_t count, const Page& page);

// "# a block in use, = the next block in use, . free, @ holds its segment": of the cells that were
// drawn, `seen`, a bit each.
[[nodiscard]] std::string legend(std::uint32_t seen, const Page& page);

}  // namespace vramscope
