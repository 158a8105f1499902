// What rows of places have in common.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/site_columns.h"

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/site_numbers.h"

namespace vramscope {

std::optional<std::int64_t> SiteCells::number(std::int64_t site) const {
  if (site < 0) return std::nullopt;
  return site_number(report_, static_cast<std::size_t>(site));
}

CellNumbers SiteCells::numbers(std::int64_t site) const {
  if (site < 0) return {};
  const std::vector<std::uint32_t>& all = report_.sites[static_cast<std::size_t>(site)].numbers;
  return all.empty() ? CellNumbers{static_cast<std::uint64_t>(site)}
                     : CellNumbers(all.begin(), all.end());
}

const CallSite& SiteCells::where(std::int64_t site) {
  if (known_ == site) return where_;
  where_ = site < 0 ? CallSite()
                    : call_site(report_, report_.sites[static_cast<std::size_t>(site)], name_,
                                kFramesInJson);
  known_ = site;
  return where_;
}

CellStack SiteCells::frames(std::int64_t site) {
  CellStack stack;
  for (const Caller& caller : where(site).callers) stack.push_back(listed_text(caller, name_));
  return stack;
}

Columns<Share> share_columns(const Report& report, const NameFrame& name) {
  using Row = Share;
  const auto share = [](const Row& row) { return percent_text(row.bytes, row.whole); };
  return with_site<Row>(
      report, name, &Row::site,
      {kind_column<Row>(&Row::kind),
       device_column<Row>(&Row::device),
       {"bytes", "requested bytes of the site", &Row::bytes, Titled("REQUESTED")},
       {{"SHARE", Table::Align::right, 2}, share},
       {"count", "number of allocations that make up these bytes", &Row::count, Titled("COUNT", 3)},
       {{"MEMORY", Table::Align::left, 1},
        [&report](const Row& row) { return memory_name(report, row.kind, row.device); }}});
}

}  // namespace vramscope
