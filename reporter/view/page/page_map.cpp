// Joins blocks of a segment into as many as can be told apart on a screen.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/page_map.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "reporter/report/report.h"

namespace vramscope {
namespace {

constexpr std::size_t kParts = 1000;  // of a segment; blocks that are smaller are joined
constexpr std::size_t kBytesOfMoments = 900'000;  // of JSON, where there are several
constexpr std::size_t kFewestCells = 16;

}  // namespace

void PageMap::add_cell(Segment& segment, const Cell& cell) {
  const auto is_small = [&](const Cell& one) {
    return one.bytes < segment.bytes / kParts && !one.is_pin;
  };
  if (segment.cells.empty() || !is_small(segment.cells.back()) || !is_small(cell)) {
    segment.cells.push_back(cell);
    return;
  }
  Cell& last = segment.cells.back();
  last.bytes += cell.bytes;
  last.used_bytes += cell.used_bytes;
  ++last.blocks;
}

PageMap::Segment PageMap::segment_of(const MapSegment& segment) {
  const SegmentFacts& facts = *segment.facts;
  Segment made{.facts = segment, .address = facts.address, .bytes = facts.total_size};
  made.facts.facts = nullptr;
  for (std::size_t i = 0; i < facts.blocks.size(); ++i) {
    const BlockFacts& block = facts.blocks[i];
    const bool is_free = block.state == BlockState::inactive;
    add_cell(made, {.offset = block.address - facts.address,
                    .bytes = block.size,
                    .used_bytes = is_free ? 0 : block.size,
                    .blocks = 1,
                    .state = block.state,
                    .requested_bytes = block.requested_size,
                    .site = block.site,
                    .born_ns = block.born_ns,
                    .is_pin = i == segment.pin});
  }
  return made;
}

std::size_t PageMap::add(const std::vector<MapPlace>& places, const MapMoment& moment,
                         std::size_t pinners, std::size_t cells) {
  Moment& made = moments_.emplace_back(Moment{.facts = moment});
  for (const MapPlace& place : places) {
    Placed& placed = made.places.emplace_back();
    for (const MapSegment& segment : place.segments) {
      Segment shown = segment_of(segment);
      if (shown.cells.size() > cells) break;
      cells -= shown.cells.size();
      placed.segments.push_back(std::move(shown));
    }
    placed.all = place.segments.size();
    placed.facts = place;
    placed.facts.segments.clear();
    placed.facts.pinners.resize(std::min(pinners, placed.facts.pinners.size()));
  }
  return moments_.size() - 1;
}

// Segments have numbers, in the order in which they are first written.
class PageMap::Writer {
 public:
  explicit Writer(const NodeOf& node) : node_(node) {}

  void add(const Moment& moment, std::size_t cells) {
    json_.object().field("moment", moment.facts.text).field("at_ns", moment.facts.at_ns);
    json_.key("places").array();
    for (const Placed& place : moment.places) add_place(place, cells);
    json_.end().end();
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_ + json_.text().size(); }
  void write(JsonText& json) {
    json.key("segments").array();
    for (const std::string* segment : segments_) json.json(*segment);
    json.end().key("moments").json(json_.end().text());
  }

 private:
  void add_place(const Placed& place, std::size_t& cells) {
    const MapPlace& facts = place.facts;
    json_.object().field("kind", kKindNames[static_cast<std::size_t>(facts.kind)]);
    json_.field("device", facts.device).field("total_bytes", facts.total_bytes);
    json_.field("allocated_bytes", facts.allocated_bytes).field("live_count", facts.live_count);
    json_.field("free_bytes", facts.free_bytes).field("stranded_bytes", facts.stranded_bytes);
    json_.field("largest_free_bytes", facts.largest_free_bytes).key("pinned_by").array();
    for (const MapPinner& pinner : facts.pinners) {
      json_.array().value(pinner.stranded_bytes).value(pinner.segments).value(pinner.blocks);
      json_.value(pinner.gives_back_bytes).value(node_of(pinner.site, true)).end();
    }
    json_.end().key("shown").array();
    std::size_t shown = 0;
    for (const Segment& segment : place.segments) {
      if (segment.cells.size() > cells) break;
      cells -= segment.cells.size();
      json_.value(number_of(segment));
      ++shown;
    }
    json_.end().field("left_out", place.all - shown).end();
  }

  std::size_t number_of(const Segment& segment) {
    const auto [found, is_new] = numbers_.try_emplace(text_of(segment), segments_.size());
    if (is_new) segments_.push_back(&found->first);
    if (is_new) bytes_ += found->first.size();
    return found->second;
  }

  std::string text_of(const Segment& segment) {
    const MapSegment& facts = segment.facts;
    JsonText json;
    json.object().field("address", segment.address).field("bytes", segment.bytes);
    json.field("pool", kMapPoolNames[static_cast<std::size_t>(facts.pool)])
        .field("live_count", facts.live_count);
    json.field("free_bytes", facts.free_bytes).field("stranded_bytes", facts.stranded_bytes());
    json.field("hole_bytes", facts.hole_bytes).field("gives_back_bytes", facts.gives_back_bytes);
    const auto pin = std::find_if(segment.cells.begin(), segment.cells.end(),
                                  [](const Cell& cell) { return cell.is_pin; });
    json.key("pin");
    pin == segment.cells.end() ? json.null() : json.value(pin - segment.cells.begin());
    json.key("cells").array();
    for (const Cell& cell : segment.cells) write_cell(json, cell);
    return json.end().end().text();
  }

  // Where it begins, bytes, bytes in use, blocks; of a single one its state, requested bytes, node
  // and birth too.
  void write_cell(JsonText& json, const Cell& cell) const {
    json.array().value(cell.offset).value(cell.bytes).value(cell.used_bytes).value(cell.blocks);
    if (cell.blocks == 1) {
      json.value(static_cast<unsigned>(cell.state)).value(cell.requested_bytes);
      json.value(node_of(cell.site, false)).value(cell.born_ns);
    }
    json.end();
  }
  [[nodiscard]] std::uint32_t node_of(std::int64_t site, bool is_made) const {
    return site < 0 ? 0 : node_(static_cast<std::size_t>(site), is_made);
  }

  const NodeOf& node_;
  JsonText json_ = std::move(JsonText().array());
  std::size_t bytes_ = 0;  // of segments
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<const std::string*> segments_;
};

void PageMap::write(JsonText& json, const NodeOf& node, std::size_t cells) const {
  json.object().key("states").array();
  for (const std::string_view state : kBlockStateNames) json.value(state);
  json.end();
  for (std::size_t each = cells;; each /= 2) {
    Writer writer(node);
    for (std::size_t i = 0; i < moments_.size(); ++i)
      writer.add(moments_[i], i == whole_ ? cells : each);
    const bool is_small = moments_.size() < 2 || each < kFewestCells;
    if (!is_small && writer.bytes() > kBytesOfMoments) continue;
    writer.write(json);
    break;
  }
  json.field("whole", whole_).key("parts").array();
  for (const Part& part : parts_) json.value(part.moment).value(part.at_ns);
  json.end().end();
}

}  // namespace vramscope
