// What verbs have in common whose listing is one list of rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/command/verb.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {

// Writes those of the rows that are asked for: as JSON, as CSV, or as `text` shows them. Gives the
// exit code.
template <class Row>
int publish_rows(
    Listing& listing, const std::function<std::vector<Row>()>& rows, const Columns<Row>& columns,
    const std::function<std::string(const std::vector<Row>& shown, const Page&)>& text) {
  settle_rows(listing);
  const RowChoice choice = listing.rows();
  choice.refuse_unless({names_of(columns)});
  const std::vector<Row> shown = chosen_rows(rows(), columns, choice);
  if (listing.csv)
    return publish_csv(listing, [&](CsvText& csv) { add_rows(csv, shown, columns); });
  return publish(listing, listing.json ? json_of(shown, columns) : text(shown, page_of(listing)));
}

// Of a report: rows(report) in columns(report).
template <class Rows, class ColumnsOf>
[[nodiscard]] Makers row_makers(MakeText text, Rows rows, ColumnsOf columns) {
  return {
      std::move(text), [=](const Report& report) { return json_of(rows(report), columns(report)); },
      [=](const Report& report, CsvText& csv) { add_rows(csv, rows(report), columns(report)); }};
}

}  // namespace vramscope
