// Writes a map of memory as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reporter/report/report.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/map_caches_text.h"
#include "reporter/view/text/map_drawing.h"
#include "reporter/view/text/map_text.h"

namespace vramscope {
namespace {

// address, size_bytes, ... of a block.
template <class Row>
Columns<Row> block_fields(std::function<const BlockFacts&(const Row&)> block,
                          const Columns<Row>& more) {
  const auto of = [=](auto member) { return [=](const Row& row) { return block(row).*member; }; };
  Columns<Row> fields{{"address", "first address", of(&BlockFacts::address)},
                      {"size_bytes", "with rounding", of(&BlockFacts::size)},
                      {"requested_bytes", "without; 0: free", of(&BlockFacts::requested_size)},
                      {"state", "as in reports", of(&BlockFacts::state), OneOf(kBlockStateNames)}};
  append(fields, more);
  return fields;
}

template <class Row>
Column<Row> born_field(std::function<const BlockFacts&(const Row&)> block) {
  return {"born_ns", "when it was allocated, after the timeline's start; `null`: unknown",
          [=](const Row& row) { return if_known(block(row).born_ns); }};
}

Columns<MapSegment> pin_fields(const std::shared_ptr<SiteCells>& cells) {
  using Row = MapSegment;
  const auto block = [](const Row& row) -> const BlockFacts& { return row.facts->blocks[row.pin]; };
  return {{"address", "of the block", [=](const Row& row) { return block(row).address; }},
          {"size_bytes", "with rounding", [=](const Row& row) { return block(row).size; }},
          {"site", kSiteMeaning, [=](const Row& row) { return cells->number(block(row).site); }},
          born_field<Row>(block),
          {"hole_bytes", "size of the hole that its free would open", &Row::hole_bytes},
          {"gives_back_bytes", "part of the hole that could be released to the driver",
           &Row::gives_back_bytes}};
}

// Of a segment with what lies in it.
Columns<MapSegment> segment_fields(const std::shared_ptr<SiteCells>& cells) {
  using Row = MapSegment;
  const auto itself = [](const BlockFacts& block) -> const BlockFacts& { return block; };
  const Columns<BlockFacts> blocks = block_fields<BlockFacts>(
      itself,
      {{"site", kSiteMeaning, [=](const BlockFacts& block) { return cells->number(block.site); }},
       born_field<BlockFacts>(itself)});
  Columns<Row> fields = segment_columns();
  fields.push_back(
      {"pin", "block whose free would open the largest hole; `null`: all or nothing is free",
       pin_fields(cells), [](const Row& row) { return row.pin == Row::kNoPin ? nullptr : &row; }});
  fields.push_back({"blocks", "by address", blocks,
                    [](const Row& row) { return std::span(row.facts->blocks); }});
  return fields;
}

Columns<MapPlace> place_fields() {
  using Row = MapPlace;
  return {
      kind_column<Row>(&Row::kind),
      device_column<Row>(&Row::device),
      {"total_bytes", "size of the segments", &Row::total_bytes},
      {"allocated_bytes", "of blocks in use, with rounding", &Row::allocated_bytes},
      {"requested_bytes", "requested bytes of blocks in use, without rounding",
       &Row::requested_bytes},
      {"live_count", "blocks in use", &Row::live_count},
      {"pending_bytes", "freed, but perhaps still in use", &Row::pending_bytes},
      {"free_bytes", "free blocks", &Row::free_bytes},
      {"largest_free_bytes", "the largest of them", &Row::largest_free_bytes},
      {"external_fragmentation_permille", "1000 × (1 - largest / free): the usual measure",
       external_fragmentation, InUnit("1/1000")},
      {"stranded_bytes",
       "free bytes beside live blocks: neither the driver nor larger requests can use them",
       &Row::stranded_bytes},
      {"stranded_segments", "segments with such bytes", &Row::stranded_segments},
      {"returnable_bytes", "free bytes that could be released to the driver at once",
       &Row::returnable_bytes},
      {"idle_segments", "segments without a live block", &Row::idle_segments},
      {"small_request_bytes", "largest request of 1 MiB and less that needs no new segment",
       &Row::small_request_bytes},
      {"large_request_bytes", "largest request above 1 MiB that needs no new segment",
       &Row::large_request_bytes},
      {"whole_request_bytes",
       "sizes of idle segments that only serve requests for the whole segment", &Row::whole_bytes}};
}

}  // namespace

Columns<MapPinner> pinner_columns(const Report& report, const NameFrame& name,
                                  std::uint64_t at_ns) {
  using Row = MapPinner;
  const auto age = [at_ns](const Row& row) { return age_text(row.oldest_ns, at_ns); };
  return with_site<Row>(
      report, name, &Row::site,
      {{"segments", "number of segments that they hold", &Row::segments, Titled("SEGMENTS", 2)},
       {"stranded_bytes", "stranded bytes in these segments", &Row::stranded_bytes,
        Titled("STRANDED")},
       {"blocks", "number of the site's blocks in these segments", &Row::blocks,
        Titled("BLOCKS", 3)},
       {"block_bytes", "of these blocks, with rounding", &Row::block_bytes},
       {"gives_back_segments", "how many of these segments have no live blocks of other sites",
        &Row::gives_back_segments},
       {"gives_back_bytes",
        "bytes that would be released to the driver if all its blocks were freed",
        &Row::gives_back_bytes, Titled("GIVES BACK")},
       {"oldest_born_ns", "when the oldest of its blocks was allocated; `null`: unknown",
        [](const Row& row) { return if_known(row.oldest_ns); }, Titled("OLDEST", 1), age}});
}

Columns<MapSegment> segment_columns() {
  using Row = MapSegment;
  const auto of = within(&Row::facts);
  return {
      {"address", "first address", of(&SegmentFacts::address)},
      {"total_bytes", "of the segment", of(&SegmentFacts::total_size)},
      {"pool",
       "`small`: for requests up to 1 MiB; `large`: for larger ones; `dedicated`: for one block "
       "of its size; `direct`: from the driver itself",
       &Row::pool, OneOf(kMapPoolNames)},
      {"is_expandable", "grows by pages", of(&SegmentFacts::is_expandable)},
      {"live_count", "blocks that are not free", &Row::live_count},
      {"free_bytes", "free blocks", &Row::free_bytes},
      {"largest_free_bytes", "the largest", &Row::largest_free_bytes},
      {"stranded_bytes", "free, but beside live blocks", &Row::stranded_bytes}};
}

Columns<MapBlock> block_columns(const Report& report, const NameFrame& name) {
  using Row = MapBlock;
  const auto block = [](const Row& row) -> const BlockFacts& { return *row.block; };
  Columns<Row> columns{
      kind_column<Row>(&Row::kind),
      device_column<Row>(&Row::device),
      {"segment_address", "", [](const Row& row) { return row.segment->facts->address; }},
      {"pool", "", [](const Row& row) { return row.segment->pool; }, OneOf(kMapPoolNames)}};
  append(columns, block_fields<Row>(block, {born_field<Row>(block)}));
  const auto site = [](const Row& row) { return row.block->site; };
  return with_site<Row>(report, name, site, {}, columns);
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

Columns<MapMoment> map_fields(const Report& report, const std::vector<MapPlace>& places,
                              const NameFrame& name, std::size_t most) {
  using All = MapMoment;
  Columns<MapPlace> place = place_fields();
  append(place,
         {{"framework_caches",
           "framework caches that hold blocks here and divide them themselves, the largest first",
           map_cache_columns(),
           [&report, name](const MapPlace& one) { return caches_in(report, one, name); }},
          {"pinned_by", "call stacks whose blocks hold segments, the most stranded bytes first",
           pinner_columns(report, name),
           [most](const MapPlace& one) { return first_rows(one.pinners, most); }},
          {"segments", "segments, the most stranded bytes first; `-n` limits these",
           segment_fields(std::make_shared<SiteCells>(report, name)),
           [most](const MapPlace& one) { return first_rows(one.segments, most); }}});
  return {
      {"moment", "instant of the map, in words", &All::text},
      {"at_ns", "the same instant, in nanoseconds after the start of the timeline", &All::at_ns},
      {"from_trace", "made of a trace", &All::is_of_trace},
      {"inferred",
       "the trace does not record segments: each extends as far as blocks were seen in it, and "
       "idle segments are not known",
       &All::are_inferred},
      {"places", "kinds and devices, the most reserved bytes first", place,
       [&places](const All&) { return std::span(places); }}};
}

std::string map_json(const Report& report, const std::vector<MapPlace>& places,
                     const MapMoment& moment, const NameFrame& name, std::size_t most) {
  return json_of(moment, map_fields(report, places, name, most));
}

}  // namespace vramscope
