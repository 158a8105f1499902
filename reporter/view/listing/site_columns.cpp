// What rows of places have in common.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/site_columns.h"

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/site_numbers.h"

namespace vramscope {

CellValue SiteCells::number(std::int64_t site) const {
  if (site < 0) return {};
  return site_number(report_, static_cast<std::size_t>(site));
}

CellValue SiteCells::numbers(std::int64_t site) const {
  if (site < 0) return CellNumbers();
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

CellValue SiteCells::called(std::int64_t site) { return where(site).entry; }

CellValue SiteCells::frames(std::int64_t site) {
  CellStack stack;
  for (const Caller& caller : where(site).callers) stack.push_back(listed_text(caller, name_));
  return stack;
}

CellValue SiteCells::line(std::int64_t site) { return source_line(where(site)); }

CellValue kind_cell(Kind kind) { return std::string(kKindNames[static_cast<std::size_t>(kind)]); }

Columns<Share> share_columns(const Report& report, const NameFrame& name) {
  const auto cells = std::make_shared<SiteCells>(report, name);
  const auto site = [](const Share& share) { return static_cast<std::int64_t>(share.site); };
  Columns<Share> columns;
  add_site_numbers<Share>(columns, cells, site);
  columns.push_back({"kind", [](const Share& share) { return kind_cell(share.kind); }});
  columns.push_back({"device", [](const Share& share) { return number(share.device); }});
  columns.push_back({"bytes", [](const Share& share) { return share.bytes; }});
  columns.push_back({"count", [](const Share& share) { return share.count; }});
  add_stack<Share>(columns, cells, site);
  return columns;
}

}  // namespace vramscope
