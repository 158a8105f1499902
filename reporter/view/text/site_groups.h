// groups_text() adds up the places of a report by function, file, library or line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/listing/history.h"
#include "reporter/view/text/sites_text.h"

namespace vramscope {

// A place counts for the frame that site_fronts.h tells. Of code without names or lines that is the
// object it lies in.
#define VRAMSCOPE_SITE_GROUPS(X) X(function) X(file) X(library) X(line)
VRAMSCOPE_NAMED_ENUM(GroupBy, std::uint8_t, VRAMSCOPE_SITE_GROUPS);

// All places of one group and memory. Where stacks were sampled, the estimates.
struct SiteGroup {
  GroupBy by = GroupBy::function;
  std::string name;
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::string memory = {};  // for a reader: memory_name()
  std::uint64_t sites = 0;
  SiteTotals totals;
  std::uint64_t whole = 0;  // that totals.peak_bytes is a part of: all of that memory
};

// Whether groups can be in this order; single places alone can be in the others.
[[nodiscard]] bool is_order_of_groups(SiteOrder order);

[[nodiscard]] Columns<SiteGroup> group_columns(GroupBy by, RunHistory history);

// In which group each site of the report is.
[[nodiscard]] RowOfSite rows_of_groups(const Report& report, GroupBy by, const NameFrame& name);

// Sums are of all places; as many rows as chosen are left of them.
[[nodiscard]] std::vector<SiteGroup> group_rows(const Report& report, GroupBy by, SiteOrder order,
                                                const NameFrame& name, const RowChoice& choice);
// Ends with a newline.
[[nodiscard]] Document groups_text(const Report& report, GroupBy by, SiteOrder order,
                                   const NameFrame& name, const Page& page,
                                   const RowChoice& choice);

}  // namespace vramscope
