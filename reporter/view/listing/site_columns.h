// The columns that rows of places have in common: numbers of sites, call stacks, shares of memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {

struct Report;

// What the columns of one row say of its site: an index into the report's, -1: unknown. Names of
// the last one are kept, for its columns ask in turn. Threads: one.
class SiteCells {
 public:
  SiteCells(const Report& report, NameFrame name) : report_(report), name_(std::move(name)) {}
  [[nodiscard]] CellValue number(std::int64_t site) const;   // its number in the report's file
  [[nodiscard]] CellValue numbers(std::int64_t site) const;  // of all that it stands for
  [[nodiscard]] CellValue called(std::int64_t site);
  [[nodiscard]] CellValue frames(std::int64_t site);
  [[nodiscard]] CellValue line(std::int64_t site);

 private:
  const CallSite& where(std::int64_t site);
  const Report& report_;
  NameFrame name_;
  std::optional<std::int64_t> known_;
  CallSite where_;
};

// site, sites.
template <class Row>
void add_site_numbers(Columns<Row>& columns, const std::shared_ptr<SiteCells>& cells,
                      const std::function<std::int64_t(const Row&)>& site) {
  columns.push_back({"site", [=](const Row& row) { return cells->number(site(row)); }});
  columns.push_back({"sites", [=](const Row& row) { return cells->numbers(site(row)); }});
}

// called, frames, line.
template <class Row>
void add_stack(Columns<Row>& columns, const std::shared_ptr<SiteCells>& cells,
               const std::function<std::int64_t(const Row&)>& site) {
  columns.push_back({"called", [=](const Row& row) { return cells->called(site(row)); }});
  columns.push_back({"frames", [=](const Row& row) { return cells->frames(site(row)); }});
  columns.push_back({"line", [=](const Row& row) { return cells->line(site(row)); }});
}

[[nodiscard]] CellValue kind_cell(Kind kind);

// site, sites, kind, device, bytes, count, called, frames, line. The report outlives them.
[[nodiscard]] Columns<Share> share_columns(const Report& report, const NameFrame& name);

}  // namespace vramscope
