// How large a site's allocations were and how long they lived, as bars.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/text/sites_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostBarCells = 32;
constexpr std::size_t kBarBegins = 28;

constexpr std::array<const char*, kLifetimes> kDecades{"< 1 us",  "< 10 us",  "< 100 us", "< 1 ms",
                                                       "< 10 ms", "< 100 ms", "< 1 s",    "< 10 s",
                                                       "< 100 s", ">= 100 s"};

template <class Name>
std::string bars(const char* title, const std::vector<std::uint64_t>& counts, const Page& page,
                 Name name) {
  std::uint64_t most = 0;
  for (const std::uint64_t count : counts) most = std::max(most, count);
  const std::size_t digits = count_text(most).size();
  const std::size_t others = kBarBegins + 4 + digits;
  const std::size_t room = page.width > others ? page.width - others : 1;
  const std::size_t cells = page.cuts ? std::min(kMostBarCells, room) : kMostBarCells;
  std::string result;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    std::string line = "    " + std::string(result.empty() ? title : "");
    line.resize(12, ' ');
    line += name(i);
    line.resize(kBarBegins, ' ');
    result += line + "[" + bar(counts[i], most, cells, page) + "]  " + count_text(counts[i]) + "\n";
  }
  return result;
}

}  // namespace

const char* lifetime_name(std::size_t decade) {
  return kDecades[std::min(decade, kDecades.size() - 1)];
}

std::string size_class_name(std::size_t size_class) {
  if (size_class == 0) return "unknown";
  return "from " + bytes_text(std::uint64_t{1} << std::min<std::size_t>(size_class - 1, 62));
}

Document histograms_text(const Report& report, SiteOrder order, const NameFrame& name,
                         const Page& page, const RowChoice& choice) {
  std::string result;
  for (const std::size_t index : sites_in_order(report, order, name, choice)) {
    const Site& site = report.sites[index];
    const CallSite where = call_site_in_text(report, site, name, kFramesInRow + 1);
    const std::size_t room = page.cuts ? page.width - 2 : Table::kUncut;
    result += (result.empty() ? "" : "\n");
    result += "  " + printable(stack_text(where, room, kFramesInRow), page) + "\n";
    result += bars("sizes", site.sizes, page, size_class_name);
    result += bars("lives", site.lifetimes, page, lifetime_name);
  }
  return result.empty() ? nothing_text(report) : Document(result);
}

}  // namespace vramscope
