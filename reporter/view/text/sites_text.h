// all_sites_text() lists the places that allocated, histograms_text() shows how large and how long.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;
struct Site;

// By what sites are ordered.
#define VRAMSCOPE_SITE_ORDERS(X) X(peak) X(live) X(total) X(count) X(time) X(temporary) X(growth)
VRAMSCOPE_NAMED_ENUM(SiteOrder, std::uint8_t, VRAMSCOPE_SITE_ORDERS);
[[nodiscard]] std::optional<SiteOrder> site_order(std::string_view name);
// The title of its column.
[[nodiscard]] std::string_view title_of(SiteOrder order);

// Indices into the report's sites, without the one that stands for those that are left out.
[[nodiscard]] std::vector<std::size_t> sites_in_order(const Report& report, SiteOrder order,
                                                      const NameFrame& name,
                                                      const RowChoice& choice);
// The memory that a site allocated: "GPU 0 physical", "GPU 0, pinned".
[[nodiscard]] std::string memories_of(const Report& report, const Site& site);
// "< 10 us", by entry of Site::lifetimes.
[[nodiscard]] const char* lifetime_name(std::size_t decade);
// "from 4.00 KiB": up to, but not including, twice as many; "unknown" for class 0.
[[nodiscard]] std::string size_class_name(std::size_t size_class);

// Rows are indices into the report's sites. The report outlives the columns.
[[nodiscard]] Columns<std::size_t> site_columns(const Report& report, const NameFrame& name);

// Each ends with a newline.
[[nodiscard]] Document all_sites_text(const Report& report, SiteOrder order, const NameFrame& name,
                                      const Page& page, const RowChoice& choice);
[[nodiscard]] Document histograms_text(const Report& report, SiteOrder order, const NameFrame& name,
                                       const Page& page, const RowChoice& choice);
}  // namespace vramscope
