// Columns are the fields of a listing's rows, named once for JSON, CSV and --sort.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/listing/cell_value.h"
#include "reporter/view/listing/csv_text.h"
#include "reporter/view/listing/json_text.h"

namespace vramscope {

template <class Row>
struct Column {
  std::string name;
  std::function<CellValue(const Row& row)> cell;
};
template <class Row>
using Columns = std::vector<Column<Row>>;

template <class Row>
[[nodiscard]] std::vector<std::string> names_of(const Columns<Row>& columns) {
  std::vector<std::string> names;
  for (const Column<Row>& column : columns) names.push_back(column.name);
  return names;
}

// The rows in the order that is asked for, if it is by one of these columns.
template <class Row>
void arrange(std::vector<Row>& rows, const Columns<Row>& columns, const RowChoice& choice) {
  if (choice.sort.empty()) return;
  const std::vector<std::string> names = names_of(columns);
  for (const Column<Row>& column : columns) {
    if (!choice.is_by(column.name, names)) continue;
    std::vector<CellValue> cells;
    for (const Row& row : rows) cells.push_back(column.cell(row));
    std::vector<Row> sorted;
    for (const std::size_t i : order_of(cells, choice)) sorted.push_back(rows[i]);
    rows = std::move(sorted);
    return;
  }
}

// The fields of an object that is open.
template <class Row>
void add_fields(JsonText& json, const Row& row, const Columns<Row>& columns) {
  for (const Column<Row>& column : columns) json.key(column.name).cell(column.cell(row));
}

// Each of the first rows as an object of the array that is open.
template <class Row>
void add_objects(JsonText& json, const std::vector<Row>& rows, const Columns<Row>& columns,
                 std::size_t most) {
  for (std::size_t i = 0; i < rows.size() && (most == 0 || i < most); ++i) {
    add_fields(json.object(), rows[i], columns);
    json.end();
  }
}

// The first rows, after titles where none are there yet.
template <class Row>
void add_rows(CsvText& csv, const std::vector<Row>& rows, const Columns<Row>& columns,
              std::size_t most) {
  csv.titles(names_of(columns));
  for (std::size_t i = 0; i < rows.size() && (most == 0 || i < most); ++i) {
    csv.begin();
    for (const Column<Row>& column : columns) csv.cell(column.cell(rows[i]));
    csv.end();
  }
}

}  // namespace vramscope
