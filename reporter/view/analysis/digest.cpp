// The questions that views ask of a report, answered as numbers.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/digest.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "allocator/ground/place.h"
#include "reporter/report/merged_process.h"
#include "reporter/view/analysis/process_end.h"

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

std::vector<Share> shares(const Report& report, std::uint64_t SiteTotals::*bytes,
                          std::uint64_t SiteTotals::*count) {
  std::vector<Share> result;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    for (const SitePart& part : report.sites[i].parts) {
      if (!holds_memory(part.kind)) continue;  // views would count the same bytes again
      const SiteTotals& totals = numbers_of(part);
      if (totals.*count == 0 && totals.*bytes == 0) continue;
      result.push_back({i, part.kind, part.device, totals.*bytes, totals.*count, /*whole=*/0});
    }
  }
  return result;
}

// Blocks that wait for their free to be complete, by site, kind and device.
struct PendingShare {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};
using PendingShares = std::map<std::tuple<std::size_t, Kind, std::uint16_t>, PendingShare>;

// `amount` of `part`, at the scale of its estimate.
std::uint64_t scaled(std::uint64_t amount, std::uint64_t exact, std::uint64_t estimate) {
  if (exact == 0 || exact == estimate) return amount;
  return static_cast<std::uint64_t>(static_cast<double>(amount) / static_cast<double>(exact) *
                                    static_cast<double>(estimate));
}

const SitePart* part_of(const Report& report, const Share& share) {
  for (const SitePart& part : report.sites[share.site].parts) {
    if (part.kind == share.kind && part.device == share.device) return &part;
  }
  return nullptr;
}

void add_pending(const std::vector<SegmentFacts>& segments, PendingShares& pending) {
  for (const SegmentFacts& segment : segments) {
    for (const BlockFacts& block : segment.blocks) {
      if (block.state != BlockState::active_pending_free || block.site < 0) continue;
      const auto site = static_cast<std::size_t>(block.site);
      PendingShare& share = pending[{site, segment.kind, segment.device}];
      share.bytes += block.requested_size;
      ++share.count;
    }
  }
}

}  // namespace

std::uint64_t run_length(const Report& report) {
  std::uint64_t length = report.processes.empty() ? report.timeline.duration_ns : 0;
  for (const MergedProcess& one : report.processes) {
    length = std::max(length, one.timeline.duration_ns);
  }
  return length;
}

std::uint64_t temporary_of(const Site& site, std::uint64_t run_length_ns) {
  if (site.lifetimes.empty() || run_length_ns == 0) return site.temporary_count;
  // Of a class of lifetimes in which a tenth of the run lies nobody knows: it counts as shorter.
  const bool is_repeated = site.totals.total_count > 1;
  std::uint64_t lives = 0;
  std::uint64_t short_lives = 0;
  std::uint64_t end_ns = 1000;  // of the first class
  for (const std::uint64_t count : site.lifetimes) {
    const bool is_short =
        is_repeated ? end_ns / 10 <= run_length_ns / 10 : end_ns <= run_length_ns / 1000;
    lives += count;
    short_lives += is_short ? count : 0;
    end_ns *= 10;
  }
  const bool is_kept = short_lives <= lives / 2;  // one that is long among many does not tell
  return is_kept ? std::min(site.temporary_count, short_lives) : site.temporary_count;
}

std::vector<Share> shares_of_peak(const Report& report) {
  std::vector<Share> peak = shares(report, &SiteTotals::peak_bytes, &SiteTotals::peak_count);
  set_whole_of_each_memory(peak);
  put_largest_first(peak);
  return peak;
}

std::vector<Share> shares_live(const Report& report) {
  std::vector<Share> live = shares(report, &SiteTotals::live_bytes, &SiteTotals::live_count);
  set_whole_of_each_memory(live);
  put_largest_first(live);
  return live;
}

std::vector<Share> shares_in_all(const Report& report) {
  std::vector<Share> all = shares(report, &SiteTotals::total_bytes, &SiteTotals::total_count);
  set_whole_of_each_memory(all);
  put_largest_first(all);
  return all;
}

// What the program freed stays with its site until it can be handed out again, which after the last
// call may be never.
std::vector<Share> shares_alive(const Report& report) {
  std::vector<Share> alive = shares(report, &SiteTotals::live_bytes, &SiteTotals::live_count);
  PendingShares pending;
  for (const DeviceReport& device : report.devices) add_pending(device.segments, pending);
  add_pending(report.host.segments, pending);
  for (Share& share : alive) {
    const PendingShare freed = pending[{share.site, share.kind, share.device}];
    const SitePart* const part = part_of(report, share);
    const SiteTotals& all = part->totals;
    share.bytes -= std::min(share.bytes, scaled(freed.bytes, all.live_bytes, share.bytes));
    share.count -= std::min(share.count, scaled(freed.count, all.live_count, share.count));
  }
  std::erase_if(alive, [](const Share& share) { return share.bytes == 0 && share.count == 0; });
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

Savings savings(const Timing& timing) {
  Savings result;
  result.hits = timing.alloc_hit.count;
  result.allocations = timing.alloc_hit.count + timing.alloc_driver.count;
  result.kept_frees = timing.free_hit.count;
  result.driver_calls = result.hits + result.kept_frees;
  result.estimated = timing.alloc_driver.count != 0;
  if (!result.estimated) return result;
  const double mean_ns = static_cast<double>(timing.alloc_driver.total_ns) /
                         static_cast<double>(timing.alloc_driver.count);
  const double saved_ns = mean_ns * static_cast<double>(timing.alloc_hit.count) -
                          static_cast<double>(timing.alloc_hit.total_ns);
  result.saved_ns = saved_ns > 0 && saved_ns < 1e18 ? static_cast<std::uint64_t>(saved_ns) : 0;
  return result;
}

// Counts and sums only: a longest call of the rest is not known.
Duration pinned_driver_time(const Report& report) {
  const Duration& all = report.host.timing.alloc_driver;
  Duration rest{.count = all.count, .total_ns = all.total_ns};
  for (const FunctionFacts& function : report.functions) {
    if (!function.name.starts_with("cuMemHostRegister")) continue;
    const FunctionTotals& totals = function.totals;
    rest.count -= std::min(rest.count, totals.calls - std::min(totals.calls, totals.failures));
    rest.total_ns -= std::min(rest.total_ns, totals.time.total_ns);
  }
  return rest;
}

Savings pinned_savings(const Report& report) {
  Timing timing = report.host.timing;
  timing.alloc_driver = pinned_driver_time(report);
  return savings(timing);
}

bool adds_peaks(const Report& report) { return report.processes.size() > 1; }

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

bool is_final(const Report& report) {
  if (report.processes.empty()) return report.trigger == "exit";
  return std::all_of(report.processes.begin(), report.processes.end(),
                     [](const MergedProcess& one) { return one.trigger == "exit"; });
}

bool have_all_ended(const Report& report) {
  const std::vector<MergedProcess> processes = merged_processes(report);
  return std::all_of(processes.begin(), processes.end(), [](const MergedProcess& one) {
    return one.trigger == "exit" || has_died(one);
  });
}

const DeviceReport* find_device(const Report& report, unsigned index) {
  for (const DeviceReport& device : report.devices) {
    if (device.facts.index == index) return &device;
  }
  return nullptr;
}

}  // namespace vramscope
