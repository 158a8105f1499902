// The questions that views ask of a report, answered as numbers.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/report_figures.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "allocator/base/place.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

// What people say for kinds of memory, without regard to case, and with - for _.
struct KindWord {
  std::string_view word;
  Kind kind;
};
constexpr KindWord kSynonyms[] = {{"gpu", Kind::device},
                                  {"async", Kind::stream_ordered},
                                  {"pool", Kind::stream_ordered},
                                  {"page_locked", Kind::pinned},
                                  {"unified", Kind::managed},
                                  {"uvm", Kind::managed},
                                  {"addresses", Kind::address_range}};

void set_whole_of_each_memory(std::vector<Share>& shares) {
  std::map<std::pair<Kind, std::uint16_t>, std::uint64_t> whole;
  for (const Share& share : shares) whole[{share.kind, share.device}] += share.bytes;
  for (Share& share : shares) share.whole = whole[{share.kind, share.device}];
}

void set_whole_of_all(std::vector<Share>& shares) {
  std::uint64_t whole = 0;
  for (const Share& share : shares) whole += share.bytes;
  for (Share& share : shares) share.whole = whole;
}

void put_largest_first(std::vector<Share>& shares) {
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return std::tie(b.bytes, b.count, a.site, a.kind, a.device) <
           std::tie(a.bytes, a.count, b.site, b.kind, b.device);
  });
}

std::vector<Share> shares(const std::vector<SiteUsage>& usage, std::uint64_t SiteTotals::*bytes,
                          std::uint64_t SiteTotals::*count) {
  std::vector<Share> result;
  for (const SiteUsage& one : usage) {
    const SiteTotals& totals = one.totals;
    if (totals.*count == 0 && totals.*bytes == 0) continue;
    result.push_back({one.site, one.kind, one.device, totals.*bytes, totals.*count, /*whole=*/0});
  }
  return result;
}

}  // namespace

std::vector<Share> shares_of_peak(const Report& report) {
  std::vector<Share> peak =
      shares(usage_by_site(report), &SiteTotals::peak_bytes, &SiteTotals::peak_count);
  set_whole_of_each_memory(peak);
  put_largest_first(peak);
  return peak;
}

std::vector<Share> shares_live(const Report& report) {
  std::vector<Share> live =
      shares(usage_by_site(report), &SiteTotals::live_bytes, &SiteTotals::live_count);
  set_whole_of_each_memory(live);
  put_largest_first(live);
  return live;
}

std::vector<Share> shares_in_all(const Report& report) {
  std::vector<Share> all =
      shares(usage_by_site(report), &SiteTotals::total_bytes, &SiteTotals::total_count);
  set_whole_of_each_memory(all);
  put_largest_first(all);
  return all;
}

std::vector<Share> shares_alive(const Report& report) {
  std::vector<Share> alive;
  for (const SiteUsage& one : usage_with_never_freed(report)) {
    if (one.never_freed_bytes == 0 && one.never_freed_count == 0) continue;
    alive.push_back({one.site, one.kind, one.device, one.never_freed_bytes, one.never_freed_count,
                     /*whole=*/0});
  }
  set_whole_of_all(alive);
  put_largest_first(alive);
  return alive;
}

std::vector<KindFacts> kinds_by_peak(const Report& report) {
  std::vector<KindFacts> kinds;
  for (const KindFacts& kind : report.kinds) {
    if (holds_memory(kind.kind) && kind.peak_bytes != 0) kinds.push_back(kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const KindFacts& a, const KindFacts& b) {
    return a.peak_bytes > b.peak_bytes;
  });
  return kinds;
}

std::optional<Kind> kind_of(std::string_view name) {
  std::string word(name);
  for (char& letter : word) {
    letter =
        letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  for (const KindWord& synonym : kSynonyms) {
    if (synonym.word == word) return synonym.kind;
  }
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), word);
  if (found == kKindNames.end()) return std::nullopt;
  return static_cast<Kind>(found - kKindNames.begin());
}

std::vector<std::string_view> words_for_kinds() {
  std::vector<std::string_view> words;
  for (const KindWord& synonym : kSynonyms) words.push_back(synonym.word);
  return words;
}

KindBytes bytes_of(const Report& report, Kind kind) {
  KindBytes result;
  for (const KindFacts& facts : report.kinds) {
    if (facts.kind != kind) continue;
    result.current += facts.current_bytes;
    result.peak += facts.peak_bytes;
    result.calls += facts.allocations;
  }
  return result;
}

const DeviceStatistics* statistics_of(const Report& report, const KindFacts& kind) {
  if (kind.kind != Kind::device) return nullptr;
  for (const DeviceReport& device : report.devices) {
    if (device.facts.index == kind.device && device.used) return &device.statistics;
  }
  return nullptr;
}

const DeviceReport* find_device(const Report& report, unsigned index) {
  for (const DeviceReport& device : report.devices) {
    if (device.facts.index == index) return &device;
  }
  return nullptr;
}

}  // namespace vramscope
