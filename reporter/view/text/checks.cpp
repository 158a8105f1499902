// CheckLimits, what is above them, and who made it so.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/checks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/leak_holders.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

CheckedSite checked_site(const Report& report, std::size_t site, std::uint64_t amount,
                         const NameFrame& name) {
  CheckedSite checked{.amount = static_cast<std::int64_t>(amount),
                      .frames = {},
                      .numbers = {site_number(report, site)}};
  for (Caller& caller : call_site(report, report.sites[site], name, kFramesInJson).callers) {
    checked.frames.push_back(listed_text(caller, name));
    checked.callers.push_back(std::make_shared<const Caller>(std::move(caller)));
  }
  return checked;
}

template <class Wanted>
std::vector<CheckedSite> sites_of(const Report& report, const std::vector<Share>& shares,
                                  const NameFrame& name, Wanted wanted,
                                  std::uint64_t Share::*amount = &Share::bytes) {
  std::vector<CheckedSite> sites;
  for (const Share& share : shares) {
    if (!wanted(share)) continue;
    sites.push_back(checked_site(report, share.site, share.*amount, name));
  }
  return sites;
}

// What a part of the rows held of a device when each kind of all its memory was at its peak.
struct ChosenSum {
  std::uint16_t device = 0;
  std::uint64_t bytes = 0;
  std::uint64_t highest = 0;  // of one kind
  std::size_t kinds = 0;
};
std::vector<ChosenSum> sums_of_choice(const Report& report) {
  std::map<std::uint16_t, ChosenSum> sums;
  for (const KindFacts& kind : report.kinds) {
    if (!takes_device_memory(kind.kind)) continue;
    ChosenSum& sum = sums[kind.device];
    sum.device = kind.device;
    sum.bytes += kind.peak_bytes;
    sum.highest = std::max(sum.highest, kind.peak_bytes);
    sum.kinds += kind.peak_bytes != 0 ? 1 : 0;
  }
  std::vector<ChosenSum> result;
  for (const auto& [device, sum] : sums) result.push_back(sum);
  return result;
}

// One process, and the report in which it stands.
struct Judged {
  const Report& report;
  ReportOfProcess one;
  CheckedProcess process;
};

std::vector<Judged> judged_processes(const Report& report, const std::string& file) {
  std::vector<Judged> all;
  for (MergedProcess& process : merged_processes(report)) {
    const CheckedProcess words = checked_process(process.process);
    all.push_back(
        {.report = report,
         .one = {.file = file, .process = std::move(process), .is_merged = is_of_several(report)},
         .process = words});
  }
  return all;
}

// What the process held at its peak, from its own report where that is there. Names are looked up
// only where somebody will read them.
template <class Wanted>
std::vector<CheckedSite> sites_at_peak(const Judged& judged, const RunsNaming& naming,
                                       Wanted wanted) {
  if (!judged.one.is_merged) {
    return sites_of(judged.report, shares_of_peak(judged.report), naming.name, wanted);
  }
  const std::optional<Report> own = read_own(judged.one, naming);
  if (!own) return {};
  return sites_of(*own, shares_of_peak(*own), naming.name, wanted);
}

// Of the host, a kind that the filter asks for.
void add_peak_of_host(std::vector<Check>& checks, const Judged& judged, std::uint64_t limit,
                      const RunsNaming& naming) {
  const Report& report = judged.report;
  if (!report.chosen || !report.chosen->kind) return;
  const Kind wanted = *report.chosen->kind;
  if (takes_device_memory(wanted) || !holds_memory(wanted)) return;
  const bool is_choice = report.chosen->by_rows;
  Check check{.what = "peak of " + kind_text(wanted), .limit = limit, .process = judged.process};
  for (const KindFacts& kind : is_choice ? report.kinds : judged.one.process.kinds) {
    if (kind.kind == wanted) check.value += kind.peak_bytes;
  }
  if (!check.passed()) {
    check.sites =
        sites_at_peak(judged, naming, [&](const Share& share) { return share.kind == wanted; });
  }
  checks.push_back(std::move(check));
}

void add_peaks_of_devices(std::vector<Check>& checks, const Judged& judged, std::uint64_t limit,
                          const RunsNaming& naming) {
  std::vector<DeviceSum> sums = device_sums({judged.one.process});
  refine_from_traces(sums, {judged.one});
  for (const DeviceSum& sum : sums) {
    Check check{.what = "peak of " + sum.label,
                .value = sum.upper,
                .limit = limit,
                .process = judged.process};
    if (sum.lower != sum.upper) check.at_least = sum.lower;
    check.is_exact_by_trace = check.at_least.has_value();
    check.adds_kinds = has_several_kinds(judged.one.process, sum.index);
    if (check.adds_kinds) check.what += ", all kinds together";
    if (!check.passed()) {
      check.sites = sites_at_peak(judged, naming, [&](const Share& share) {
        return takes_device_memory(share.kind) && share.device == sum.ordinal;
      });
    }
    checks.push_back(std::move(check));
  }
}

// Of a part of the rows, which a merged report has of all processes together.
void add_peaks_of_choice(std::vector<Check>& checks, const Report& report, std::uint64_t limit,
                         const NameFrame& name) {
  for (const ChosenSum& sum : sums_of_choice(report)) {
    const bool is_one_instant = sum.kinds < 2 && !is_of_several(report);
    const char* const of = is_one_instant          ? "at the peak of "
                           : is_of_several(report) ? "sum of peaks of "
                                                   : "peak of ";
    Check check{
        .what = of + gpu_name(report, sum.device) + (sum.kinds < 2 ? "" : ", all kinds together"),
        .value = sum.bytes,
        .limit = limit,
        .process = all_processes(report)};
    if (sum.kinds > 1 && !is_of_several(report)) check.at_least = sum.highest;
    if (!check.passed()) {
      check.sites = sites_of(report, shares_of_peak(report), name, [&](const Share& share) {
        return takes_device_memory(share.kind) && share.device == sum.device;
      });
    }
    checks.push_back(std::move(check));
  }
}

void add_peaks(std::vector<Check>& checks, const Report& report, const std::string& file,
               std::uint64_t limit, const RunsNaming& naming) {
  const std::size_t before = checks.size();
  if (report.chosen && report.chosen->by_rows) {
    Judged all{
        .report = report, .one = {.file = file, .process = {}}, .process = all_processes(report)};
    add_peak_of_host(checks, all, limit, naming);
    add_peaks_of_choice(checks, report, limit, naming.name);
  } else {
    for (const Judged& judged : judged_processes(report, file)) {
      add_peak_of_host(checks, judged, limit, naming);
      add_peaks_of_devices(checks, judged, limit, naming);
    }
  }
  if (checks.size() != before) return;
  checks.push_back(
      {.what = "peak of device memory", .limit = limit, .process = all_processes(report)});
}

// "the 8 processes held 1.10 GiB to 1.20 GiB of GPU 0 together"; "" of one process.
std::string together_text(const Report& report, const std::string& file) {
  if (!is_of_several(report) || (report.chosen && report.chosen->by_rows)) return "";
  std::vector<ReportOfProcess> all;
  for (const Judged& judged : judged_processes(report, file)) all.push_back(judged.one);
  std::vector<DeviceSum> sums = device_sums(report.processes);
  refine_from_traces(sums, all);
  std::string text;
  for (const DeviceSum& sum : sums) {
    const bool is_exact = sum.lower == sum.upper;
    text += (text.empty() ? "" : ", ") + std::string(is_exact ? "" : "at most ") +
            amount_text(sum.upper) + " of " + sum.label;
  }
  if (text.empty()) return text;
  return "The " + count_text(report.processes.size()) + " processes held " + text +
         " together at the same time.";
}

std::vector<Share> shares_of(const Leaks& leaks) {
  std::vector<Share> shares;
  for (const Leak& leak : leaks.leaks) shares.push_back(leak.share);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
  return shares;
}

Check leak_check(const Report& report, const Leaks& leaks, std::uint64_t limit,
                 const NameFrame& name) {
  Check check{.what = "never freed",
              .value = leaked_bytes(leaks),
              .limit = limit,
              .process = all_processes(report)};
  check.died = who_died(merged_processes(report));
  if (!check.passed()) {
    check.sites = sites_of(report, shares_of(leaks), name, [](const Share&) { return true; });
  }
  return check;
}

// What a process left of the places that are leaks, the largest first.
std::vector<Share> shares_of(const Leaks& leaks, std::size_t process) {
  std::vector<Share> shares;
  for (const Leak& leak : leaks.leaks) {
    Share share = leak.share;
    share.bytes = share.count = 0;
    for (const LiveShare& live : leaks.left_shares[process]) {
      if (!is_of(live, share)) continue;
      share.bytes += live.live_bytes;
      share.count += live.live_count;
    }
    if (share.bytes != 0) shares.push_back(share);
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
  return shares;
}

// Of each process, where the report tells what each left.
void add_leaks(Checked& checked, const Report& report, std::uint64_t limit,
               const Suppressions& suppressions, const NameFrame& name) {
  const Leaks leaks = leaks_of(report, suppressions, name);
  std::vector<Check>& checks = checked.checks;
  checked.suppressed = suppressed_bytes(leaks);
  checked.cached = cached_bytes(leaks);
  if (leaks.left.empty()) checks.push_back(leak_check(report, leaks, limit, name));
  for (std::size_t i = 0; i < leaks.left.size(); ++i) {
    const MergedProcess& process = report.processes[i];
    Check check{.what = "never freed",
                .value = leaks.left[i].most,
                .limit = limit,
                .process = checked_process(process.process)};
    if (leaks.left[i].least != leaks.left[i].most) check.at_least = leaks.left[i].least;
    check.died = who_died({process});
    if (!check.passed()) check.sites = leaked_sites(report, leaks, i, name);
    checks.push_back(std::move(check));
  }
}

void add_refusals(std::vector<Check>& checks, const Report& report, std::uint64_t limit) {
  for (const MergedProcess& process : merged_processes(report)) {
    checks.push_back({.what = "calls that ran out of memory",
                      .value = process.oom.count,
                      .limit = limit,
                      .is_count = true,
                      .process = checked_process(process.process)});
  }
}

struct Totals {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::vector<Share> shares;  // of sites
};

Totals totals_of(const Report& report) {
  Totals totals;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    for (const SitePart& part : report.sites[i].parts) {
      if (!holds_memory(part.kind)) continue;
      totals.bytes += part.totals.total_bytes;
      totals.count += part.totals.total_count;
      totals.shares.push_back({i, part.kind, part.device, part.totals.total_bytes,
                               part.totals.total_count, /*whole=*/0});
    }
  }
  return totals;
}

void name_sites(Check& check, const Report& report, const NameFrame& name) {
  std::vector<Share> shares = totals_of(report).shares;
  std::stable_sort(shares.begin(), shares.end(), [&](const Share& a, const Share& b) {
    return check.is_count ? a.count > b.count : a.bytes > b.bytes;
  });
  const auto amount = check.is_count ? &Share::count : &Share::bytes;
  check.sites = sites_of(
      report, shares, name, [&](const Share& share) { return share.*amount != 0; }, amount);
}

// Of each process; of all together where a merged report does not tell what each allocated.
void add_totals(std::vector<Check>& checks, const Report& report, const std::string& file,
                const CheckLimits& limits, const RunsNaming& naming) {
  const auto add = [&](bool is_count, std::uint64_t value,
                       const CheckedProcess& process) -> Check* {
    const std::optional<std::uint64_t>& limit = is_count ? limits.allocations : limits.total;
    if (!limit) return nullptr;
    checks.push_back({.what = is_count ? "allocations" : "allocated in all",
                      .value = value,
                      .limit = *limit,
                      .is_count = is_count,
                      .process = process});
    return checks.back().passed() ? nullptr : &checks.back();
  };
  const std::vector<Judged> judged = judged_processes(report, file);
  const bool is_by_process = is_of_several(report) && !report.chosen &&
                             std::all_of(judged.begin(), judged.end(), [](const Judged& one) {
                               return one.one.process.total_bytes >= 0;
                             });
  for (const bool is_count : {false, true}) {
    if (!is_by_process) {
      const Totals totals = totals_of(report);
      Check* const failed =
          add(is_count, is_count ? totals.count : totals.bytes, all_processes(report));
      if (failed != nullptr) name_sites(*failed, report, naming.name);
      continue;
    }
    for (const Judged& one : judged) {
      const auto bytes = static_cast<std::uint64_t>(one.one.process.total_bytes);
      Check* const failed =
          add(is_count, is_count ? allocations_of(one.one.process) : bytes, one.process);
      if (failed == nullptr) continue;
      if (const std::optional<Report> own = read_own(one.one, naming)) {
        name_sites(*failed, *own, naming.name);
      }
    }
  }
}

}  // namespace

std::vector<CheckedSite> leaked_sites(const Report& report, const Leaks& leaks, std::size_t process,
                                      const NameFrame& name) {
  return sites_of(report, shares_of(leaks, process), name, [](const Share&) { return true; });
}

CheckedProcess checked_process(const ProcessFacts& process) {
  return {.pid = process.pid, .rank = process.rank, .words = named_process(process)};
}

CheckedProcess all_processes(const Report& report) {
  if (!is_of_several(report)) return checked_process(report.process);
  return {.words = "all " + count_text(report.processes.size()) + " processes together"};
}

Checked checks_of(const Report& report, const std::string& file, const CheckLimits& limits,
                  const Suppressions& suppressions, const RunsNaming& naming) {
  Checked checked{.file = file, .next = "peak " + shell_word(file), .checks = {}};
  checked.processes = std::max<std::size_t>(report.processes.size(), 1);
  if (limits.peak) {
    add_peaks(checked.checks, report, file, *limits.peak, naming);
    checked.together = together_text(report, file);
  }
  const bool peaks_pass = all_passed({checked});
  add_device_limits(checked.checks, report, file, limits, naming);
  const bool uses_pass = all_passed({checked});
  if (limits.leak) add_leaks(checked, report, *limits.leak, suppressions, naming.name);
  add_totals(checked.checks, report, file, limits, naming);
  const bool others_pass = all_passed({checked});
  if (limits.refusals) add_refusals(checked.checks, report, *limits.refusals);
  add_ends(checked, report, file);
  if (peaks_pass) checked.next = (limits.leak ? "leaks " : "sites ") + shell_word(file);
  if (peaks_pass && !uses_pass) checked.next = "owners " + shell_word(file);
  if (others_pass && limits.refusals) checked.next = "oom " + shell_word(file);
  return checked;
}

bool all_passed(const std::vector<Checked>& all) {
  return no_check_failed(all) && unread_in(all) == 0 && unfinished_in(all) == 0;
}

std::size_t unread_in(const std::vector<Checked>& all) {
  return static_cast<std::size_t>(std::ranges::count_if(all, &Checked::is_unread));
}

std::size_t unfinished_in(const std::vector<Checked>& all) {
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const Checked& one) { return !one.unfinished.empty(); }));
}

bool no_check_failed(const std::vector<Checked>& all) {
  return std::ranges::all_of(
      all, [](const Checked& one) { return std::ranges::all_of(one.checks, &Check::passed); });
}

}  // namespace vramscope
