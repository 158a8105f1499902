// The columns that rows of places have in common: numbers of sites, call stacks, shares of memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/history.h"
#include "reporter/view/listing/site_listing.h"

namespace vramscope {

inline constexpr const char* kSiteMeaning =
    "number of the call stack in the report's file; `null`: unknown";

// What the columns of one row say of its site: an index into the report's, -1: unknown. Names of
// the last one are kept, for its columns ask in turn. Threads: one.
class SiteCells {
 public:
  SiteCells(const Report& report, NameFrame name) : report_(report), name_(std::move(name)) {}
  [[nodiscard]] std::optional<std::int64_t> number(std::int64_t site) const;  // in the file
  [[nodiscard]] CellNumbers numbers(std::int64_t site) const;  // of all that it stands for
  [[nodiscard]] const CallSite& where(std::int64_t site);
  [[nodiscard]] CellStack frames(std::int64_t site);

 private:
  const Report& report_;
  NameFrame name_;
  std::optional<std::int64_t> known_;
  CallSite where_;
};

// site, sites.
template <class Row>
[[nodiscard]] Columns<Row> site_numbers(const std::shared_ptr<SiteCells>& cells,
                                        const std::function<std::int64_t(const Row&)>& site) {
  return {{"site", kSiteMeaning, [=](const Row& row) { return cells->number(site(row)); }},
          {"sites",
           "all sites of the file that this row stands for; several if frames were left out, if "
           "stacks look alike, or with `--lines`",
           [=](const Row& row) { return cells->numbers(site(row)); }}};
}

// called, frames, line.
template <class Row>
[[nodiscard]] Columns<Row> stack_columns(const std::shared_ptr<SiteCells>& cells,
                                         const std::function<std::int64_t(const Row&)>& site) {
  return {
      {"called", "function of CUDA's runtime or driver that the program called; empty: unknown",
       [=](const Row& row) { return cells->where(site(row)).entry; }},
      {"frames",
       "call stack, innermost first: `make<float> (a.cpp:1)`, with `--full` `void make<float>(int) "
       "(/src/a.cpp:1)`; in CSV one text, `make<float> (a.cpp:1) < main (b.cpp:2)`",
       [=](const Row& row) { return cells->frames(site(row)); }},
      {"line", "source text of the innermost frame's line; empty: unknown",
       [=](const Row& row) { return source_line(cells->where(site(row))); }}};
}

// The columns of rows that lie at a site: what comes before, its numbers, what is said of the row,
// its stack.
template <class Row, class Site>
[[nodiscard]] Columns<Row> with_site(const Report& report, const NameFrame& name, Site site,
                                     const Columns<Row>& columns, Columns<Row> all = {}) {
  const auto cells = std::make_shared<SiteCells>(report, name);
  append(all, site_numbers<Row>(cells, site));
  append(all, columns);
  append(all, stack_columns<Row>(cells, site));
  return all;
}

// kind; device.
template <class Row, class Get>
[[nodiscard]] Column<Row> kind_column(Get get) {
  return {"kind", "kind of memory, as in reports", get};
}
template <class Row, class Get>
[[nodiscard]] Column<Row> device_column(Get get) {
  return {"device", "number of the GPU; 0 for memory of no device", get};
}

// peak_bytes, live_bytes, live_count, total_bytes, total_count, total_ns. Of those that the text
// has, which yields when; see Table::Column.
struct TotalsYield {
  unsigned peak, live, total, count, time;
};
// Each call takes some time: where there were calls, none is not known.
[[nodiscard]] inline std::optional<std::uint64_t> measured_ns(const SiteTotals& totals) {
  return totals.total_ns == 0 && totals.total_count != 0 ? std::nullopt
                                                         : std::optional(totals.total_ns);
}
template <class Row>
[[nodiscard]] Columns<Row> totals_columns(std::function<const SiteTotals&(const Row&)> totals,
                                          TotalsYield yield) {
  const auto of = [&](std::uint64_t SiteTotals::*member) {
    return [totals, member](const Row& row) { return totals(row).*member; };
  };
  return {
      {"peak_bytes",
       "requested bytes live at the peak of the kind and device; in a merged report, the sum over "
       "its processes, each at its own peak",
       of(&SiteTotals::peak_bytes), Titled("AT PEAK", yield.peak)},
      {"live_bytes", "requested bytes live when the report was made", of(&SiteTotals::live_bytes),
       Titled("NOW", yield.live)},
      {"live_count", "number of allocations that make up these bytes", of(&SiteTotals::live_count)},
      {"total_bytes", "requested bytes ever allocated", of(&SiteTotals::total_bytes),
       Titled("TOTAL", yield.total)},
      {"total_count", "number of allocations in the whole run", of(&SiteTotals::total_count),
       Titled("COUNT", yield.count)},
      {"total_ns", "time in the allocating calls; `null`: not measured",
       [totals](const Row& row) { return measured_ns(totals(row)); }, Titled("TIME", yield.time),
       Legend("TIME: in the allocating calls.")}};
}

// Leaves of a text's columns what a snapshot without history tells: not its peaks and sums, which
// are what was live.
template <class Row>
void keep_what_was_live(Columns<Row>& columns) {
  constexpr std::string_view kHistory[] = {"AT PEAK", "OWN PEAK", "TOTAL", "TIME",
                                           "TEMP",    "LIFE",     "GREW"};
  std::erase_if(columns, [&](const Column<Row>& column) {
    return std::find(std::begin(kHistory), std::end(kHistory), column.title) != std::end(kHistory);
  });
}

// Such rows as text, the stacks below `where`.
template <class Rows, class Row, class Site>
[[nodiscard]] SiteListing site_listing(const Report& report, const NameFrame& name,
                                       const Columns<Row>& columns, const Rows& rows, Site site,
                                       const std::string& where, const Page& page,
                                       SiteListing::Calls calls = SiteListing::Calls::hidden) {
  SiteListing table(report, name, titles_of(columns, {{where}}), calls);
  for (const Row& row : rows) {
    table.add(text_cells(columns, row, page), static_cast<std::int64_t>(std::invoke(site, row)));
  }
  return table;
}

// The first `usual` of such rows, 0 for all, or those that a screen has room for. below: gives what
// stands below so many, as whole lines. The report outlives it.
template <class Row, class Site>
[[nodiscard]] RowsBlock rows_of_sites(const Report& report, const NameFrame& name,
                                      const Columns<Row>& columns, const std::vector<Row>& rows,
                                      Site site, const std::string& where, const Page& page,
                                      std::size_t usual,
                                      std::function<std::string(std::size_t shown)> below) {
  const auto listing = [=, &report](std::size_t shown) {
    return site_listing(report, name, columns, first_rows(rows, shown), site, where, page);
  };
  return rows_of({.all = rows.size(),
                  .listing = listing,
                  .below = std::move(below),
                  .most = [usual](const ScreenRoom& room) { return room.most(usual); }},
                 page);
}

// "  and 7 more rows, 12.0 MiB" of those behind the first ones, as rows_of_sites() takes it.
template <class Row, class Bytes>
[[nodiscard]] std::function<std::string(std::size_t shown)> rest_of(const std::vector<Row>& rows,
                                                                    Bytes bytes) {
  return [=](std::size_t shown) {
    if (shown == rows.size()) return std::string();
    std::uint64_t rest = 0;
    for (std::size_t i = shown; i < rows.size(); ++i) rest += std::invoke(bytes, rows[i]);
    return "  and " + counted(rows.size() - shown, "more row") + ", " + amount_text(rest) + "\n";
  };
}

// site, sites, kind, device, bytes, count, called, frames, line. The report outlives them.
[[nodiscard]] Columns<Share> share_columns(const Report& report, const NameFrame& name);

}  // namespace vramscope
