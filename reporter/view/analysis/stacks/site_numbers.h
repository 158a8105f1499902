// site_number() returns the number that a site has in the report's file, whatever was joined or
// left out since. The other functions correct references to sites.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramscope {

struct Report;

// Returns the `id` in the file of the site at that index of report.sites. If choosing frames joined
// several sites, returns that of the first one.
[[nodiscard]] std::int64_t site_number(const Report& report, std::size_t index);

// Must be called before sites are moved: each keeps its number.
void keep_site_numbers(Report& report);

// Changes all references to sites, and joins shares whose sites are now one. places: for each
// former index of a site its present index; -1: it was removed. report.sites must already be in its
// new state.
void renumber_sites(Report& report, const std::vector<std::int64_t>& places);

}  // namespace vramscope
