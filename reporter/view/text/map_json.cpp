// Writes a map of memory as JSON.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/report.h"
#include "reporter/view/text/json_text.h"
#include "reporter/view/text/map_text.h"

namespace vramscope {
namespace {

// By MapPool.
constexpr const char* kPoolNames[] = {"small", "large", "dedicated", "direct"};

void write_site(JsonText& json, std::int64_t site) {
  json.key("site");
  site < 0 ? json.null() : json.value(site);
}

void write_born(JsonText& json, std::int64_t born_ns) {
  json.key("born_ns");
  born_ns < 0 ? json.null() : json.value(born_ns);
}

void write_pinner(JsonText& json, const Report& report, const MapPinner& pinner,
                  const NameFrame& name) {
  json.object();
  write_site(json, pinner.site);
  json.field("segments", pinner.segments).field("stranded_bytes", pinner.stranded_bytes);
  json.field("blocks", pinner.blocks).field("block_bytes", pinner.block_bytes);
  json.field("gives_back_segments", pinner.gives_back_segments);
  json.field("gives_back_bytes", pinner.gives_back_bytes);
  json.key("oldest_born_ns");
  pinner.oldest_ns < 0 ? json.null() : json.value(pinner.oldest_ns);
  json.key("frames").array();
  if (pinner.site >= 0) {
    const Site& site = report.sites[static_cast<std::size_t>(pinner.site)];
    for (const Caller& caller : call_site(report, site, name, kFramesInJson).callers) {
      json.value(text(caller));
    }
  }
  json.end().end();
}

void write_block(JsonText& json, const BlockFacts& block) {
  json.object().field("address", block.address).field("size", block.size);
  json.field("requested_size", block.requested_size);
  json.field("state", kBlockStateNames[static_cast<std::size_t>(block.state)]);
  write_site(json, block.site);
  write_born(json, block.born_ns);
  json.end();
}

void write_segment(JsonText& json, const MapSegment& segment) {
  const SegmentFacts& facts = *segment.facts;
  json.object().field("address", facts.address).field("total_size", facts.total_size);
  json.field("pool", kPoolNames[static_cast<std::size_t>(segment.pool)]);
  json.field("is_expandable", facts.is_expandable).field("live_count", segment.live_count);
  json.field("free_bytes", segment.free_bytes);
  json.field("largest_free_bytes", segment.largest_free_bytes);
  json.field("stranded_bytes", segment.stranded_bytes()).key("pin");
  if (segment.pin == MapSegment::kNoPin) {
    json.null();
  } else {
    const BlockFacts& block = facts.blocks[segment.pin];
    json.object().field("address", block.address).field("size", block.size);
    write_site(json, block.site);
    write_born(json, block.born_ns);
    json.field("hole_bytes", segment.hole_bytes);
    json.field("gives_back_bytes", segment.gives_back_bytes).end();
  }
  json.key("blocks").array();
  for (const BlockFacts& block : facts.blocks) write_block(json, block);
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

std::string map_json(const Report& report, const std::vector<MapPlace>& places,
                     const MapMoment& moment, const NameFrame& name, std::size_t most) {
  JsonText json;
  json.object().field("moment", moment.text).field("at_ns", moment.at_ns);
  json.field("from_trace", moment.is_of_trace).key("places").array();
  for (const MapPlace& place : places) {
    json.object().field("kind", kKindNames[static_cast<std::size_t>(place.kind)]);
    json.field("device", place.device);
    write_figures(json, place);
    json.key("pinned_by").array();
    for (std::size_t i = 0; i < rows_shown(place.pinners.size(), most); ++i) {
      write_pinner(json, report, place.pinners[i], name);
    }
    json.end().key("segments").array();
    for (std::size_t i = 0; i < rows_shown(place.segments.size(), most); ++i) {
      write_segment(json, place.segments[i]);
    }
    json.end().end();
  }
  return json.end().end().text();
}

}  // namespace vramscope
