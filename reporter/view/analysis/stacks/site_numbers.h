// site_number() is the number that a site has in the report's file, whatever was joined or left out
// since; the other functions keep what refers to sites right.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramscope {

struct Report;

// Of the site at that index of report.sites: its `id` in the file. Of one that stands for several,
// which choosing frames made equal, that of the first.
[[nodiscard]] std::int64_t site_number(const Report& report, std::size_t index);

// Before sites change their places: each keeps its number.
void keep_site_numbers(Report& report);

// `places`: by former index of a site, its index now, -1: it is left out. Changes all that refers
// to sites; report.sites is as it is to be already.
void renumber_sites(Report& report, const std::vector<std::int64_t>& places);

}  // namespace vramscope
