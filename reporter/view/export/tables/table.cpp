// The tables of all formats that have tables: THE list.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/tables/table.h"

namespace vramscope {

std::optional<std::int64_t> device_of(Kind kind, std::uint16_t device) {
  return has_device(kind) ? std::optional<std::int64_t>(device) : std::nullopt;
}

const std::vector<ExportTable>& export_tables() {
  static const std::vector<ExportTable> kTables = [] {
    std::vector<ExportTable> tables;
    add_total_tables(tables);
    add_site_tables(tables);
    add_segment_tables(tables);
    add_event_table(tables);
    add_process_tables(tables);
    return tables;
  }();
  return kTables;
}

std::string write_tables(const Exported& exported, TableWriter& writer) {
  TableSource source(exported);
  for (const ExportTable& table : export_tables()) {
    writer.begin(table.facts);
    table.write_rows(source, writer);
    writer.end();
  }
  return source.problem();
}

}  // namespace vramscope
