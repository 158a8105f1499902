// Draws segments once, however many of them a screen has room for.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/map_drawing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/listing/map_cells.h"
#include "reporter/view/listing/site_listing.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeastWidth = 40;
constexpr std::size_t kMostWidth = 240;  // of rows of characters, however wide the page is
constexpr std::size_t kFramesOfPin = 3;  // below a segment; the table above has the whole row

using Segments = std::vector<const MapSegment*>;

const char* name_of(MapPool pool) {
  switch (pool) {
    case MapPool::small:
      return "small pool (1 MiB and less)";
    case MapPool::large:
      return "large pool";
    case MapPool::dedicated:
      return "segments of one block";
    case MapPool::direct:
      return "from the driver itself";
  }
  return "";
}

// "idle segments: 3 x 20.0 MiB, 1 x 2.00 MiB": there is nothing to see in them.
std::string idle_text(const Segments& idle, const Page& page) {
  constexpr std::size_t kSizesNamed = 4;
  std::map<std::uint64_t, std::size_t, std::greater<>> sizes;
  for (const MapSegment* one : idle) ++sizes[one->facts->total_size];
  std::string text;
  std::size_t named = 0;
  for (const auto& [bytes, count] : sizes) {
    if (named++ == kSizesNamed) {
      text += " and " + counted(sizes.size() - kSizesNamed, "more size");
      break;
    }
    text +=
        (text.empty() ? "idle segments: " : ", ") + count_text(count) + " x " + amount_text(bytes);
  }
  return text.empty() ? "" : paragraph(text + " (-n 0 draws them)", page);
}

std::string pin_text(const Report& report, const MapSegment& segment, const MapMoment& moment,
                     const NameFrame& name, const Page& page) {
  const BlockFacts& block = segment.facts->blocks[segment.pin];
  std::string gives = segment.gives_back_bytes == 0
                          ? "leaves a hole of " + amount_text(segment.hole_bytes)
                          : "releases " + amount_text(segment.gives_back_bytes) + " to the driver";
  if (segment.live_count > 1) gives += " (1 of " + counted(segment.live_count, "block") + ")";
  std::string text = "@ " + amount_text(block.size);
  if (block.requested_size != block.size && block.requested_size != 0)
    text += " (requested " + amount_text(block.requested_size) + ")";
  const std::string age = age_text(block.born_ns, moment.at_ns);
  if (!age.empty()) text += ", " + age + " old";
  text += "; freeing it " + gives + ": ";
  return paragraph(text + where_text(report, block.site, name, page, kFramesOfPin), page, 4);
}

// One pool's segments, all to the same scale. Threads: one.
class PoolDrawing {
 public:
  // draws_idle: those that have nothing to see, too.
  PoolDrawing(const Segments& segments, const Page& page, bool draws_idle,
              const std::function<std::string(const MapSegment&)>& pin_of)
      : page_(page), columns_(std::clamp(page.width, kLeastWidth, kMostWidth) - 6) {
    std::uint64_t largest = 0;
    std::uint64_t total = 0;
    for (const MapSegment* one : segments) {
      largest = std::max(largest, one->facts->total_size);
      total += one->facts->total_size;
    }
    unit_ = bytes_of_cell(largest, columns_);
    title_ = std::string(name_of(segments.front()->pool)) + ": " +
             counted(segments.size(), "segment") + ", " + amount_text(total);
    Segments idle;
    for (const MapSegment* one : segments) {
      if (one->is_idle() && !draws_idle) {
        idle.push_back(one);
      } else if (one->stranded_bytes() == 0) {
        pack(*one);
      } else {
        alone_.push_back(with_pin(*one, pin_of));
      }
    }
    idle_ = idle_text(idle, page_);
  }

  // most: segments with a hole, and rows of others; 0: all.
  [[nodiscard]] std::string text(std::size_t most) const {
    std::string body;
    for (std::size_t i = 0; i < rows_shown(alone_.size(), most); ++i) body += alone_[i].text;
    for (std::size_t i = 0; i < rows_shown(packed_.size(), most); ++i) {
      body += "    |" + packed_[i].text + "\n";
    }
    return head(most) + body + idle_ + rest(most);
  }

  [[nodiscard]] std::size_t lines(std::size_t most) const {
    std::size_t sum = line_count(head(most)) + rows_shown(packed_.size(), most) +
                      line_count(idle_) + line_count(rest(most));
    for (std::size_t i = 0; i < rows_shown(alone_.size(), most); ++i) {
      sum += line_count(alone_[i].text);
    }
    return sum;
  }

 private:
  // A segment with its pin, or a row of others.
  struct Piece {
    std::string text = {};
    std::uint32_t seen = 0;  // cells, a bit each
    std::size_t segments = 0;
    std::size_t columns = 0;  // of a row
  };

  void show(Piece& piece, const std::vector<Cell>& cells) const {
    for (const Cell cell : cells) piece.seen |= 1U << static_cast<unsigned>(cell);
    ++piece.segments;
  }

  Piece with_pin(const MapSegment& segment,
                 const std::function<std::string(const MapSegment&)>& pin_of) const {
    std::array<char, 32> address{};
    std::snprintf(address.data(), address.size(), "0x%llx",
                  static_cast<unsigned long long>(segment.facts->address));
    Piece piece{.text =
                    paragraph(amount_text(segment.facts->total_size) + " at " + address.data() +
                                  ": " + amount_text(segment.free_bytes) + " free, largest hole " +
                                  amount_text(segment.largest_free_bytes),
                              page_)};
    const std::vector<Cell> cells = cells_of(segment, unit_);  // as many as a row has, at most
    show(piece, cells);
    piece.text += "    |" + drawn(cells, 0, cells.size(), page_) + "|\n";
    if (segment.pin != MapSegment::kNoPin) piece.text += pin_of(segment);
    return piece;
  }

  // Those without stranded bytes, one after the other on as few rows as they need.
  void pack(const MapSegment& segment) {
    const std::vector<Cell> cells = cells_of(segment, unit_);
    if (packed_.empty() || packed_.back().columns + cells.size() > columns_) packed_.emplace_back();
    Piece& row = packed_.back();
    show(row, cells);
    row.text += drawn(cells, 0, cells.size(), page_) + "|";
    row.columns += cells.size() + 1;
  }

  [[nodiscard]] std::string head(std::size_t most) const {
    std::uint32_t seen = 0;
    for (std::size_t i = 0; i < rows_shown(alone_.size(), most); ++i) seen |= alone_[i].seen;
    for (std::size_t i = 0; i < rows_shown(packed_.size(), most); ++i) seen |= packed_[i].seen;
    const std::string scale = seen == 0 ? "" : "; a character is " + amount_text(unit_);
    return "\n" + paragraph(title_ + scale, Colour::bold, page_) +
           (seen == 0 ? "" : paragraph(legend(seen, page_), page_));
  }

  [[nodiscard]] std::string rest(std::size_t most) const {
    std::size_t left_out = alone_.size() - rows_shown(alone_.size(), most);
    for (std::size_t i = rows_shown(packed_.size(), most); i < packed_.size(); ++i) {
      left_out += packed_[i].segments;
    }
    if (left_out == 0) return "";
    return "  and " + counted(left_out, "more segment") + ": -n 0 draws all\n";
  }

  Page page_;
  std::size_t columns_;
  std::uint64_t unit_ = 1;
  std::string title_;
  std::vector<Piece> alone_, packed_;
  std::string idle_;
};

}  // namespace

std::string age_text(std::int64_t born_ns, std::uint64_t at_ns) {
  return born_ns < 0 ? ""
                     : duration_text(at_ns - std::min(static_cast<std::uint64_t>(born_ns), at_ns));
}

std::vector<RowsBlock> map_drawings(const Report& report, const MapPlace& place,
                                    const MapMoment& moment, const NameFrame& name,
                                    const Page& page, std::size_t most) {
  std::array<Segments, 4> pools;
  for (const MapSegment& segment : place.segments) {
    pools[static_cast<std::size_t>(segment.pool)].push_back(&segment);
  }
  std::stable_sort(pools.begin(), pools.end(), [](const Segments& a, const Segments& b) {
    const auto stranded = [](const Segments& pool) {
      return pool.empty() ? 0 : pool.front()->stranded_bytes();
    };
    return stranded(a) > stranded(b);
  });
  const auto pin_of = [&](const MapSegment& segment) {
    return pin_text(report, segment, moment, name, page);
  };
  std::vector<RowsBlock> drawings;
  for (const Segments& pool : pools) {
    if (pool.empty()) continue;
    const auto drawing = std::make_shared<const PoolDrawing>(pool, page, most == 0, pin_of);
    drawings.push_back(
        {.text = [=](const ScreenRoom& room) { return drawing->text(room.most(most)); },
         .lines = [=](const ScreenRoom& room) { return drawing->lines(room.most(most)); }});
  }
  return drawings;
}

}  // namespace vramscope
