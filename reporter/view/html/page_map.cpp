// Joins blocks of a segment into as many as can be told apart on a screen.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/html/page_map.h"

#include <algorithm>
#include <array>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/text/site_numbers.h"

namespace vramscope {
namespace {

constexpr std::size_t kParts = 1000;  // of a segment; blocks that are smaller are joined
constexpr std::size_t kPinners = 20;

// A block, or several that follow each other.
struct Cell {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t blocks = 0;
  const BlockFacts* block = nullptr;  // the only one
  bool is_pin = false;
};

class Cells {
 public:
  explicit Cells(const MapSegment& segment)
      : facts_(*segment.facts), least_(facts_.total_size / kParts) {
    for (std::size_t i = 0; i < facts_.blocks.size(); ++i) {
      add(facts_.blocks[i], i == segment.pin);
    }
  }
  [[nodiscard]] const std::vector<Cell>& all() const { return cells_; }

 private:
  void add(const BlockFacts& block, bool is_pin) {
    const bool is_free = block.state == BlockState::inactive;
    const Cell cell{.offset = block.address - facts_.address,
                    .bytes = block.size,
                    .used_bytes = is_free ? 0 : block.size,
                    .blocks = 1,
                    .block = &block,
                    .is_pin = is_pin};
    const bool joins = !cells_.empty() && is_small(cells_.back()) && is_small(cell);
    if (!joins) {
      cells_.push_back(cell);
      return;
    }
    Cell& last = cells_.back();
    last.bytes += cell.bytes;
    last.used_bytes += cell.used_bytes;
    ++last.blocks;
    last.block = nullptr;
  }
  [[nodiscard]] bool is_small(const Cell& cell) const {
    return cell.bytes < least_ && !cell.is_pin;
  }

  const SegmentFacts& facts_;
  const std::uint64_t least_;
  std::vector<Cell> cells_;
};

// Where it begins, bytes, bytes in use, blocks; of a single one its state, requested bytes, site
// and birth too.
void write_cell(JsonText& json, const Report& report, const Cell& cell) {
  json.array().value(cell.offset).value(cell.bytes).value(cell.used_bytes).value(cell.blocks);
  if (cell.block != nullptr) {
    const BlockFacts& block = *cell.block;
    const std::int64_t site =
        block.site < 0 ? -1 : site_number(report, static_cast<std::size_t>(block.site));
    json.value(static_cast<unsigned>(block.state)).value(block.requested_size).value(site);
    json.value(block.born_ns);
  }
  json.end();
}

void write_segment(JsonText& json, const Report& report, const MapSegment& segment,
                   const std::vector<Cell>& cells) {
  json.object().field("address", segment.facts->address).field("bytes", segment.facts->total_size);
  json.field("pool", pool_name(segment.pool));
  json.field("live_count", segment.live_count).field("free_bytes", segment.free_bytes);
  json.field("stranded_bytes", segment.stranded_bytes()).field("hole_bytes", segment.hole_bytes);
  json.field("gives_back_bytes", segment.gives_back_bytes).key("pin");
  const auto pin =
      std::find_if(cells.begin(), cells.end(), [](const Cell& cell) { return cell.is_pin; });
  pin == cells.end() ? json.null() : json.value(pin - cells.begin());
  json.key("cells").array();
  for (const Cell& cell : cells) write_cell(json, report, cell);
  json.end().end();
}

std::string summary_of(const PageOf& of, const NameFrame& name) {
  std::vector<MapPlace> places = of.places;
  for (MapPlace& place : places) place.segments.clear();
  return map_json(of.report, places, of.moment, name, kPinners);
}

}  // namespace

void write_map(JsonText& json, const PageOf& of, const NameFrame& name, std::size_t most) {
  constexpr std::size_t kBlocksOfSegment = 4;
  std::size_t room = kBlocksOfSegment * most;
  std::size_t segments = most;
  json.key("map").object().key("summary").json(summary_of(of, name)).key("states").array();
  for (const std::string_view state : kBlockStateNames) json.value(state);
  json.end().key("segments").array();
  for (const MapPlace& place : of.places) {
    std::size_t shown = 0;
    json.object().key("shown").array();
    for (const MapSegment& segment : place.segments) {
      const Cells cells(segment);
      if (segments == 0 || cells.all().size() > room) break;
      --segments;
      room -= cells.all().size();
      ++shown;
      write_segment(json, of.report, segment, cells.all());
    }
    json.end().field("left_out", place.segments.size() - shown).end();
  }
  json.end().end();
}

}  // namespace vramscope
