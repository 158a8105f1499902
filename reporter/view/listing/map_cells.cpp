// Draws segments.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/map_cells.h"

#include <algorithm>
#include <array>

namespace vramscope {
namespace {

constexpr std::uint64_t kLeastBytes = 512;  // every block is a multiple of it

// By Cell.
constexpr std::array<const char*, 6> kAscii{"#", "=", "+", "~", ".", "@"};
constexpr std::array<const char*, 6> kUnicode{"█", "▓", "▒", "~", "·", "@"};

const char* sign_of(Cell cell, const Page& page) {
  return (page.unicode ? kUnicode : kAscii)[static_cast<std::size_t>(cell)];
}

std::string coloured_run(const std::string& run, Cell cell, const Page& page) {
  switch (cell) {
    case Cell::pin:
      return coloured(run, Colour::red, page);
    case Cell::pending:
      return coloured(run, Colour::yellow, page);
    case Cell::free:
      return coloured(run, Colour::dim, page);
    case Cell::used:
    case Cell::other_used:
    case Cell::partly:
      return run;
  }
  return run;
}

// What lies in the bytes of one cell, added up block by block.
struct Mixture {
  std::uint64_t free = 0;
  std::uint64_t pending = 0;
  std::uint64_t used = 0;
  std::size_t used_blocks = 0;
  bool odd = false;  // the last used block's number
  bool pin = false;

  [[nodiscard]] Cell cell() const {
    if (pin) return Cell::pin;
    if (used == 0 && pending == 0) return Cell::free;
    if (used == 0) return Cell::pending;
    if (used_blocks > 1 || free + pending != 0) return Cell::partly;
    return odd ? Cell::other_used : Cell::used;
  }
};

}  // namespace

std::uint64_t bytes_of_cell(std::uint64_t largest, std::size_t most) {
  std::uint64_t bytes = kLeastBytes;
  while (largest / bytes > most || (largest / bytes == most && largest % bytes != 0)) bytes *= 2;
  return bytes;
}

std::vector<Cell> cells_of(const MapSegment& segment, std::uint64_t bytes_per_cell) {
  const std::uint64_t total = segment.facts->total_size;
  const std::size_t count =
      std::max<std::size_t>(total / bytes_per_cell + (total % bytes_per_cell != 0 ? 1 : 0), 1);
  std::vector<Mixture> mixtures(count);
  std::uint64_t offset = 0;
  bool odd = true;
  for (std::size_t i = 0; i < segment.facts->blocks.size(); ++i) {
    const BlockFacts& block = segment.facts->blocks[i];
    if (block.state == BlockState::active_allocated) odd = !odd;
    for (std::uint64_t left = block.size; left != 0;) {
      Mixture& mixture = mixtures[offset / bytes_per_cell];
      const std::uint64_t part = std::min(left, bytes_per_cell - offset % bytes_per_cell);
      if (block.state == BlockState::inactive) mixture.free += part;
      if (block.state == BlockState::active_pending_free) mixture.pending += part;
      if (block.state == BlockState::active_allocated) {
        mixture.used += part;
        mixture.odd = odd;
        ++mixture.used_blocks;
      }
      mixture.pin = mixture.pin || i == segment.pin;
      offset += part;
      left -= part;
    }
  }
  std::vector<Cell> cells;
  for (const Mixture& mixture : mixtures) cells.push_back(mixture.cell());
  return cells;
}

std::string drawn(const std::vector<Cell>& cells, std::size_t first, std::size_t count,
                  const Page& page) {
  const std::size_t end = std::min(cells.size(), first + count);
  std::string result;
  for (std::size_t at = first; at < end;) {
    std::string run;
    const Cell cell = cells[at];
    for (; at < end && cells[at] == cell; ++at) run += sign_of(cell, page);
    result += coloured_run(run, cell, page);
  }
  return result;
}

std::string legend(std::uint32_t seen, const Page& page) {
  constexpr std::array<const char*, 6> kMeanings{"a block in use",
                                                 "the next block in use",
                                                 "several small blocks, or partly free",
                                                 "freed, but perhaps still in use",
                                                 "free",
                                                 "holds its segment"};
  std::string text;
  for (std::size_t cell = 0; cell < kMeanings.size(); ++cell) {
    if ((seen >> cell & 1U) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(sign_of(static_cast<Cell>(cell), page)) + " " +
            kMeanings[cell];
  }
  return text;
}

}  // namespace vramscope
