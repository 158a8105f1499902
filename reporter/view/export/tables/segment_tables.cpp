// Segments and their blocks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/export/tables/table.h"

namespace vramscope {
namespace {

struct SegmentRow {
  std::int64_t number;
  const SegmentFacts& facts;
};
Columns<SegmentRow> segment_columns() {
  const auto of = [](auto SegmentFacts::*member) {
    return [member](const SegmentRow& row) { return row.facts.*member; };
  };
  Columns<SegmentRow> columns = {{"segment", "number in its report", &SegmentRow::number}};
  append(columns, place_columns<SegmentRow>(of(&SegmentFacts::kind), of(&SegmentFacts::device)));
  append(columns, {{"address", "where it begins", of(&SegmentFacts::address)},
                   {"total_size", "its bytes", of(&SegmentFacts::total_size), InUnit("bytes")},
                   {"allocated_size", "bytes in blocks in use", of(&SegmentFacts::allocated_size),
                    InUnit("bytes")},
                   {"active_size", "the same with blocks whose free waits for a stream",
                    of(&SegmentFacts::active_size), InUnit("bytes")},
                   {"requested_size", "bytes that the program requested of these",
                    of(&SegmentFacts::requested_size), InUnit("bytes")},
                   {"is_small", "of the small pool", of(&SegmentFacts::is_small)}});
  return columns;
}

struct BlockRow {
  std::int64_t segment;
  const BlockFacts& facts;
};
Columns<BlockRow> block_columns() {
  const auto of = [](auto BlockFacts::*member) {
    return [member](const BlockRow& row) { return row.facts.*member; };
  };
  return {{"segment", "number in `segments`", &BlockRow::segment},
          {"address", "where it begins", of(&BlockFacts::address)},
          {"size", "its bytes", of(&BlockFacts::size), InUnit("bytes")},
          {"requested_size", "bytes that the program requested; 0: it is free",
           of(&BlockFacts::requested_size), InUnit("bytes")},
          {"state", "of the block, as in reports", of(&BlockFacts::state), OneOf(kBlockStateNames)},
          {"site", "that allocated it; null: unknown, or it is free",
           [](const BlockRow& row) { return if_known(row.facts.site); }},
          {"born_ns", "when, after `start_ns` of the process; null: unknown, or it is free",
           [](const BlockRow& row) { return if_known(row.facts.born_ns); }}};
}

// Of memory that is the process's own, not a view of what others hold.
template <class Tell>
void each_segment(const Report& report, Tell tell) {
  std::int64_t number = 0;
  const auto of = [&](const std::vector<SegmentFacts>& segments) {
    for (const SegmentFacts& segment : segments)
      if (holds_memory(segment.kind)) tell(SegmentRow{number++, segment});
  };
  for (const DeviceReport& device : report.devices) of(device.segments);
  of(report.host.segments);
  of(report.host.registrations);
}

}  // namespace

void add_segment_tables(std::vector<ExportTable>& tables) {
  tables.push_back(table_of_rows<SegmentRow>(
      {"segments", "memory that the driver gave in one call", {"segment"}}, segment_columns(),
      [](TableSource& source, const auto& add) { each_segment(source.report(), add); }));
  tables.push_back(
      table_of_rows<BlockRow>({"blocks", "a part of a segment, in use or free", {}},
                              block_columns(), [](TableSource& source, const auto& add) {
                                each_segment(source.report(), [&](const SegmentRow& row) {
                                  for (const BlockFacts& block : row.facts.blocks)
                                    add(BlockRow{row.number, block});
                                });
                              }));
}

}  // namespace vramscope
