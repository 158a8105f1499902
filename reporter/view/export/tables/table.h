// ExportTable is a table of a report or a trace, declared once for every format that has tables.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/export/exported.h"
#include "reporter/view/export/named_stacks.h"
#include "reporter/view/export/site_places.h"
#include "reporter/view/listing/cell_value.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/field.h"

namespace vramscope {

// The version of the tables. It rises when a column is renamed, goes, or changes its meaning; new
// tables and columns leave it as it is.
inline constexpr std::int64_t kTablesVersion = 1;

struct TableFacts {
  std::string name;
  std::string doc;                    // what a row is
  std::vector<std::string> key = {};  // the columns that identify a row of one report; {}: none do
  std::vector<Field> columns = {};
};

// Receives tables, one after the other: begin(), its rows, end(). It reports its own errors later.
// Threads: one. Members may throw bad_alloc.
class TableWriter {
 public:
  TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;
  virtual ~TableWriter() = default;
  virtual void begin(const TableFacts& table) = 0;
  // Receives a cell for each column.
  virtual void add(std::span<const CellValue> cells) = 0;
  virtual void end() = 0;
};

// The source of all tables of one report or trace, which outlives it. Threads: one. Members may
// throw bad_alloc.
class TableSource {
 public:
  explicit TableSource(const Exported& exported) : exported_(exported), stacks_(exported) {}

  [[nodiscard]] const Exported& exported() const { return exported_; }
  [[nodiscard]] const Report& report() const { return exported_.report(); }
  [[nodiscard]] NamedStacks& stacks() { return stacks_; }
  // Returns the stacks as texts, which are made when they are first asked for.
  [[nodiscard]] const SitePlaces& places() {
    if (!places_) places_.emplace(exported_);
    return *places_;
  }

  void fail(std::string problem) { problem_ = std::move(problem); }
  [[nodiscard]] const std::string& problem() const { return problem_; }  // "": none

 private:
  const Exported& exported_;
  NamedStacks stacks_;
  std::optional<SitePlaces> places_ = {};
  std::string problem_ = {};
};

struct ExportTable {
  TableFacts facts;
  std::function<void(TableSource& source, TableWriter& writer)> write_rows;
};

// Returns the table of what `each` passes to its second argument, row by row.
template <class Row, class Each>
[[nodiscard]] ExportTable table_of_rows(TableFacts facts, Columns<Row> columns, Each each) {
  facts.columns = fields_of(columns);
  return {std::move(facts),
          [columns = std::move(columns), each](TableSource& source, TableWriter& writer) {
            std::vector<CellValue> cells(columns.size());
            each(source, [&](const Row& row) {
              for (std::size_t i = 0; i < columns.size(); ++i) cells[i] = columns[i].cell(row);
              writer.add(cells);
            });
          }};
}

// Columns that tables have in common. device: null for the host's memory.
[[nodiscard]] std::optional<std::int64_t> device_of(Kind kind, std::uint16_t device);
template <class Row, class GetKind, class GetDevice>
[[nodiscard]] Columns<Row> place_columns(GetKind kind, GetDevice device) {
  return {{"kind", "kind of memory, as in reports", kind},
          {"device", "number of the GPU; null: memory of the host", [=](const Row& row) {
             return device_of(std::invoke(kind, row), std::invoke(device, row));
           }}};
}

// Add their tables to the list. May throw bad_alloc.
void add_process_tables(std::vector<ExportTable>& tables);
void add_total_tables(std::vector<ExportTable>& tables);
void add_site_tables(std::vector<ExportTable>& tables);
void add_segment_tables(std::vector<ExportTable>& tables);
void add_event_table(std::vector<ExportTable>& tables);

// Returns all tables, `processes` last: where a row of it is, the other tables of that report are
// complete. May throw bad_alloc.
[[nodiscard]] const std::vector<ExportTable>& export_tables();

// Writes every table. Returns "" or the problem of the trace. May throw bad_alloc.
[[nodiscard]] std::string write_tables(const Exported& exported, TableWriter& writer);

}  // namespace vramscope
