// map_text() draws segments with their blocks, and says whether memory is fragmented and what pins
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/map_answer.h"
#include "reporter/view/analysis/map_moment.h"
#include "reporter/view/analysis/memory_map.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// most: segments drawn of each pool, and sites; 0 for all. The report, the answers and the moment
// outlive the text. JSON ends with a newline.
[[nodiscard]] Document map_text(const Report& report, const std::vector<PlaceAnswer>& answers,
                                const MapMoment& moment, const NameFrame& name, const Page& page,
                                std::size_t most);
[[nodiscard]] std::string map_json(const Report& report, const std::vector<MapPlace>& places,
                                   const MapMoment& moment, const NameFrame& name,
                                   std::size_t most);

// What that writes. The report and the places outlive it.
[[nodiscard]] Columns<MapMoment> map_fields(const Report& report,
                                            const std::vector<MapPlace>& places,
                                            const NameFrame& name, std::size_t most);

// Of sites that pin segments, whose age the text counts to at_ns, and of segments. The report
// outlives them.
[[nodiscard]] Columns<MapPinner> pinner_columns(const Report& report, const NameFrame& name,
                                                std::uint64_t at_ns = 0);
[[nodiscard]] Columns<MapSegment> segment_columns();

// A block with the segment that it lies in.
struct MapBlock {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  const MapSegment* segment = nullptr;
  const BlockFacts* block = nullptr;
};
[[nodiscard]] Columns<MapBlock> block_columns(const Report& report, const NameFrame& name);
// Of every segment its blocks.
void add_map_csv(CsvText& csv, const Report& report, const std::vector<MapPlace>& places,
                 const NameFrame& name, const RowChoice& choice);

}  // namespace vramscope
