// Writes a map of memory as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/report.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/map_text.h"

namespace vramscope {
namespace {

std::string name_of(BlockState state) {
  return std::string(kBlockStateNames[static_cast<std::size_t>(state)]);
}

void write_block(JsonText& json, const SiteCells& cells, const BlockFacts& block) {
  json.object().field("address", block.address).field("size_bytes", block.size);
  json.field("requested_bytes", block.requested_size).field("state", name_of(block.state));
  json.key("site").cell(cells.number(block.site));
  json.key("born_ns").cell(if_known(block.born_ns)).end();
}

void write_segment(JsonText& json, const SiteCells& cells, const MapSegment& segment) {
  const SegmentFacts& facts = *segment.facts;
  add_fields(json.object(), segment, segment_columns());
  json.key("pin");
  if (segment.pin == MapSegment::kNoPin) {
    json.null();
  } else {
    const BlockFacts& block = facts.blocks[segment.pin];
    json.object().field("address", block.address).field("size_bytes", block.size);
    json.key("site").cell(cells.number(block.site));
    json.key("born_ns").cell(if_known(block.born_ns));
    json.field("hole_bytes", segment.hole_bytes);
    json.field("gives_back_bytes", segment.gives_back_bytes).end();
  }
  json.key("blocks").array();
  for (const BlockFacts& block : facts.blocks) write_block(json, cells, block);
  json.end().end();
}

void write_figures(JsonText& json, const MapPlace& place) {
  const std::pair<const char*, std::uint64_t> numbers[] = {
      {"total_bytes", place.total_bytes},
      {"allocated_bytes", place.allocated_bytes},
      {"requested_bytes", place.requested_bytes},
      {"live_count", place.live_count},
      {"pending_bytes", place.pending_bytes},
      {"free_bytes", place.free_bytes},
      {"largest_free_bytes", place.largest_free_bytes},
      {"external_fragmentation_permille", external_fragmentation(place)},
      {"stranded_bytes", place.stranded_bytes},
      {"stranded_segments", place.stranded_segments},
      {"returnable_bytes", place.returnable_bytes},
      {"idle_segments", place.idle_segments},
      {"small_request_bytes", place.small_request_bytes},
      {"large_request_bytes", place.large_request_bytes}};
  for (const auto& [field, number] : numbers) json.field(field, number);
  json.key("whole_request_bytes").array();
  for (const std::uint64_t bytes : place.whole_bytes) json.value(bytes);
  json.end();
}

}  // namespace

Columns<MapPinner> pinner_columns(const Report& report, const NameFrame& name) {
  using Row = MapPinner;
  const auto cells = std::make_shared<SiteCells>(report, name);
  const auto site = [](const Row& row) { return row.site; };
  Columns<Row> columns;
  add_site_numbers<Row>(columns, cells, site);
  columns.insert(columns.end(),
                 {{"segments", [](const Row& row) { return row.segments; }},
                  {"stranded_bytes", [](const Row& row) { return row.stranded_bytes; }},
                  {"blocks", [](const Row& row) { return row.blocks; }},
                  {"block_bytes", [](const Row& row) { return row.block_bytes; }},
                  {"gives_back_segments", [](const Row& row) { return row.gives_back_segments; }},
                  {"gives_back_bytes", [](const Row& row) { return row.gives_back_bytes; }},
                  {"oldest_born_ns", [](const Row& row) { return if_known(row.oldest_ns); }}});
  add_stack<Row>(columns, cells, site);
  return columns;
}

Columns<MapSegment> segment_columns() {
  using Row = MapSegment;
  return {{"address", [](const Row& row) { return row.facts->address; }},
          {"total_bytes", [](const Row& row) { return row.facts->total_size; }},
          {"pool", [](const Row& row) { return std::string(pool_name(row.pool)); }},
          {"is_expandable", [](const Row& row) { return row.facts->is_expandable; }},
          {"live_count", [](const Row& row) { return row.live_count; }},
          {"free_bytes", [](const Row& row) { return row.free_bytes; }},
          {"largest_free_bytes", [](const Row& row) { return row.largest_free_bytes; }},
          {"stranded_bytes", [](const Row& row) { return row.stranded_bytes(); }}};
}

Columns<MapBlock> block_columns(const Report& report, const NameFrame& name) {
  using Row = MapBlock;
  const auto cells = std::make_shared<SiteCells>(report, name);
  const auto site = [](const Row& row) { return row.block->site; };
  Columns<Row> columns{
      {"kind", [](const Row& row) { return kind_cell(row.kind); }},
      {"device", [](const Row& row) { return number(row.device); }},
      {"segment_address", [](const Row& row) { return row.segment->facts->address; }},
      {"pool", [](const Row& row) { return std::string(pool_name(row.segment->pool)); }},
      {"address", [](const Row& row) { return row.block->address; }},
      {"size_bytes", [](const Row& row) { return row.block->size; }},
      {"requested_bytes", [](const Row& row) { return row.block->requested_size; }},
      {"state", [](const Row& row) { return name_of(row.block->state); }},
      {"born_ns", [](const Row& row) { return if_known(row.block->born_ns); }}};
  add_site_numbers<Row>(columns, cells, site);
  add_stack<Row>(columns, cells, site);
  return columns;
}

void add_map_csv(CsvText& csv, const Report& report, const std::vector<MapPlace>& places,
                 const NameFrame& name, const RowChoice& choice) {
  std::vector<MapBlock> blocks;
  for (const MapPlace& place : places) {
    for (const MapSegment& segment : place.segments) {
      for (const BlockFacts& block : segment.facts->blocks) {
        blocks.push_back({place.kind, place.device, &segment, &block});
      }
    }
  }
  const Columns<MapBlock> columns = block_columns(report, name);
  arrange(blocks, columns, choice);
  add_rows(csv, blocks, columns, choice.most);
}

std::string map_json(const Report& report, const std::vector<MapPlace>& places,
                     const MapMoment& moment, const NameFrame& name, std::size_t most) {
  const SiteCells cells(report, name);
  const Columns<MapPinner> pinners = pinner_columns(report, name);
  JsonText json;
  json.object().field("moment", moment.text).field("at_ns", moment.at_ns);
  json.field("from_trace", moment.is_of_trace);
  json.field("inferred", moment.are_inferred).key("places").array();
  for (const MapPlace& place : places) {
    json.object().field("kind", kKindNames[static_cast<std::size_t>(place.kind)]);
    json.field("device", place.device);
    write_figures(json, place);
    add_objects(json.key("pinned_by").array(), place.pinners, pinners, most);
    json.end().key("segments").array();
    for (std::size_t i = 0; i < rows_shown(place.segments.size(), most); ++i) {
      write_segment(json, cells, place.segments[i]);
    }
    json.end().end();
  }
  return json.end().end().text();
}

}  // namespace vramscope
