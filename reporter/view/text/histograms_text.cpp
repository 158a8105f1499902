// How large a site's allocations were and how long they lived, as bars.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>
#include <string>
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
constexpr std::size_t kNameBegins = 15;
constexpr std::size_t kBarBegins = 31;

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
    line.resize(kNameBegins, ' ');
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
  const std::vector<std::size_t> sites = sites_in_order(report, order, name, choice);
  if (sites.empty()) return nothing_text(report);
  std::set<std::string> memories;
  std::vector<CallSite> stacks;
  for (const std::size_t index : sites) {
    const Site& site = report.sites[index];
    memories.insert(memories_of(report, site));
    stacks.push_back(folded_call_site(report, site, name, kFramesLookedAt));
  }
  const std::size_t room = page.cuts ? page.width - 2 : Table::kUncut;
  const auto whole = [&](std::size_t i) {
    return call_site(report, report.sites[sites[i]], name, kAllFrames);
  };
  const std::vector<StackText> texts = stack_texts(stacks, room, whole);
  Document text;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Site& site = report.sites[sites[i]];
    if (!text.is_empty()) text.gap();
    text.line("  " + texts[i].text);
    if (memories.size() > 1) text.line("    memory  " + memories_of(report, site));
    text.drawing(bars("sizes", site.sizes, page, size_class_name));
    text.drawing(bars("lifetimes", site.lifetimes, page, lifetime_name));
  }
  return text;
}

}  // namespace vramscope
