// CheckLimits, what is above them, and who made it so.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/check_text.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/text/device_sum.h"
#include "reporter/view/text/diff.h"
#include "reporter/view/text/diff_text.h"
#include "reporter/view/text/exact_sum.h"
#include "reporter/view/text/json_text.h"
#include "reporter/view/text/leaks.h"
#include "reporter/view/text/site_listing.h"
#include "reporter/view/text/site_numbers.h"

namespace vramscope {
namespace {

std::vector<std::string> frames_of(const Report& report, std::size_t site, const NameFrame& name) {
  std::vector<std::string> frames;
  for (const Caller& caller : call_site(report, report.sites[site], name, kFramesInJson).callers) {
    frames.push_back(text(caller));
  }
  return frames;
}

template <class Wanted>
std::vector<CheckedSite> sites_of(const Report& report, const std::vector<Share>& shares,
                                  const NameFrame& name, Wanted wanted,
                                  std::uint64_t Share::*amount = &Share::bytes) {
  std::vector<CheckedSite> sites;
  for (const Share& share : shares) {
    if (!wanted(share)) continue;
    sites.push_back({static_cast<std::int64_t>(share.*amount),
                     frames_of(report, share.site, name),
                     {site_number(report, share.site)}});
  }
  return sites;
}

// What a part of the rows held of each device when all was at its peak.
std::vector<DeviceSum> sums_of_choice(const Report& report) {
  std::map<std::uint16_t, std::uint64_t> sums;
  for (const KindFacts& kind : report.kinds) {
    if (takes_device_memory(kind.kind)) sums[kind.device] += kind.peak_bytes;
  }
  std::vector<DeviceSum> result;
  for (const auto& [device, bytes] : sums) {
    DeviceSum sum;
    sum.index = device;
    sum.upper = bytes;
    result.push_back(std::move(sum));
  }
  return result;
}

// Of the host, a kind that the filter asks for.
void add_peak_of_host(std::vector<Check>& checks, const Report& report, std::uint64_t limit,
                      const NameFrame& name) {
  if (!report.chosen || !report.chosen->kind) return;
  const Kind wanted = *report.chosen->kind;
  if (takes_device_memory(wanted) || !holds_memory(wanted)) return;
  Check check{.what = "peak of " + kind_text(wanted),
              .value = bytes_of(report, wanted).peak,
              .limit = limit};
  if (!check.passed()) {
    check.sites = sites_of(report, shares_of_peak(report), name,
                           [&](const Share& share) { return share.kind == wanted; });
  }
  checks.push_back(std::move(check));
}

// Exact where traces tell.
std::vector<DeviceSum> sums_of_processes(const Report& report, const std::string& file) {
  std::vector<MergedProcess> processes = merged_processes(report);
  std::vector<DeviceSum> sums = device_sums(processes);
  std::vector<ReportOfProcess> all;
  for (MergedProcess& process : processes) {
    all.push_back({.file = file, .process = std::move(process)});
  }
  make_exact(sums, all);
  return sums;
}

// Names are looked up only where somebody will read them.
void add_peaks(std::vector<Check>& checks, const Report& report, const std::string& file,
               std::uint64_t limit, const NameFrame& name) {
  const bool is_choice = report.chosen && report.chosen->by_rows;
  add_peak_of_host(checks, report, limit, name);
  for (const DeviceSum& sum :
       is_choice ? sums_of_choice(report) : sums_of_processes(report, file)) {
    Check check{
        .what = (is_choice ? "at the peak of GPU " : "peak of GPU ") + std::to_string(sum.index),
        .value = sum.upper,
        .limit = limit};
    if (!check.passed()) {
      check.sites = sites_of(report, shares_of_peak(report), name, [&](const Share& share) {
        return takes_device_memory(share.kind) && share.device == sum.index;
      });
    }
    checks.push_back(std::move(check));
  }
  if (!checks.empty()) return;
  checks.push_back({.what = "peak of device memory", .value = 0, .limit = limit});
}

std::vector<Share> shares_of(const Leaks& leaks) {
  std::vector<Share> shares;
  for (const Leak& leak : leaks.leaks) shares.push_back(leak.share);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
  return shares;
}

std::uint64_t bytes_of(const Leaks& leaks) {
  std::uint64_t bytes = leaks.without_site;
  for (const LeakedMemory& memory : leaks.memory) bytes += memory.bytes;
  return bytes;
}

Check leak_check(const Report& report, std::uint64_t limit, const Suppressions& suppressions,
                 const NameFrame& name) {
  const Leaks leaks = leaks_of(report, suppressions, name);
  Check check{.what = "never freed", .value = bytes_of(leaks), .limit = limit};
  if (!check.passed()) {
    check.sites = sites_of(report, shares_of(leaks), name, [](const Share&) { return true; });
  }
  return check;
}

void add_totals(std::vector<Check>& checks, const Report& report, const CheckLimits& limits,
                const NameFrame& name) {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::vector<Share> shares;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    for (const SitePart& part : report.sites[i].parts) {
      if (!holds_memory(part.kind)) continue;
      bytes += part.totals.total_bytes;
      count += part.totals.total_count;
      shares.push_back({i, part.kind, part.device, part.totals.total_bytes, part.totals.total_count,
                        /*whole=*/0});
    }
  }
  const auto add = [&](const char* what, std::uint64_t value, std::uint64_t limit, bool is_count) {
    Check check{.what = what, .value = value, .limit = limit, .baseline = {}, .is_count = is_count};
    std::stable_sort(shares.begin(), shares.end(), [&](const Share& a, const Share& b) {
      return is_count ? a.count > b.count : a.bytes > b.bytes;
    });
    if (!check.passed()) {
      check.sites = sites_of(
          report, shares, name, [](const Share&) { return true; },
          is_count ? &Share::count : &Share::bytes);
    }
    checks.push_back(std::move(check));
  };
  if (limits.total) add("allocated in all", bytes, *limits.total, /*is_count=*/false);
  if (limits.allocations) add("allocations", count, *limits.allocations, /*is_count=*/true);
}

std::uint64_t allowed(std::uint64_t baseline, std::uint64_t percent) {
  return baseline + baseline / 100 * percent + baseline % 100 * percent / 100;
}

std::vector<CheckedSite> grown_sites(const Differences& found, Kind kind, std::uint16_t device) {
  std::vector<CheckedSite> sites;
  for (const Difference& row : found.rows) {
    if (row.kind != kind || row.device != device || row.change() <= 0) continue;
    sites.push_back({row.change(), row.after.frames, row.after.sites});
  }
  return sites;
}

std::string number_text(const Check& check, std::uint64_t number) {
  return check.is_count ? count_text(static_cast<std::int64_t>(number)) : amount_text(number);
}

std::string failure_text(const Check& check) {
  const std::string value = check.what + ": " + number_text(check, check.value);
  if (!check.baseline) {
    return value + ", " + number_text(check, check.value - check.limit) + " above the limit of " +
           number_text(check, check.limit);
  }
  const std::uint64_t grown = check.value - *check.baseline;
  const std::string share =
      *check.baseline == 0 ? "" : " (" + percent_text(grown, *check.baseline) + ")";
  return value + ", " + number_text(check, grown) + share + " above the baseline's " +
         number_text(check, *check.baseline) + "; " + number_text(check, check.limit) +
         " would pass";
}

std::string sites_text(const Check& check, const Page& page, std::size_t most) {
  Table table({{check.baseline   ? "GREW"
                : check.is_count ? "COUNT"
                                 : "BYTES",
                Table::Align::right},
               {"WHERE", Table::Align::left}});
  const std::size_t shown = rows_shown(check.sites.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const CheckedSite& site = check.sites[i];
    table.add({check.baseline ? change_text(site.amount)
                              : number_text(check, static_cast<std::uint64_t>(site.amount)),
               printable(frames_text(site.frames), page)});
  }
  if (table.empty()) return "";
  std::string text = table.text(page);
  if (shown < check.sites.size()) {
    text += "  and " + counted(check.sites.size() - shown, "more site") + "\n";
  }
  return text;
}

// "peak of GPU 0 183 MiB of 10.0 GiB, ...".
std::string passed_text(const std::vector<Checked>& all, const Page& page) {
  std::vector<std::string> parts;
  for (const Checked& one : all) {
    for (const Check& check : one.checks) {
      parts.push_back(check.what + " " + number_text(check, check.value) + " of " +
                      number_text(check, check.limit));
    }
  }
  constexpr std::size_t kNamed = 4;
  std::string text =
      all.size() == 1 ? "passed: " : "passed in " + counted(all.size(), "report") + ": ";
  for (std::size_t i = 0; i < std::min(kNamed, parts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + parts[i];
  }
  return sentence(text + (parts.size() > kNamed ? ", ..." : ""), page);
}

}  // namespace

Checked checks_of(const Report& report, const std::string& file, const CheckLimits& limits,
                  const Suppressions& suppressions, const NameFrame& name) {
  Checked checked{.file = file, .next = "peak " + shell_word(file), .checks = {}};
  if (limits.peak) add_peaks(checked.checks, report, file, *limits.peak, name);
  const bool peaks_pass = all_passed({checked});
  if (limits.leak) {
    checked.checks.push_back(leak_check(report, *limits.leak, suppressions, name));
  }
  add_totals(checked.checks, report, limits, name);
  if (peaks_pass) checked.next = (limits.leak ? "leaks " : "sites ") + shell_word(file);
  return checked;
}

Checked checks_against(const Report& report, const Report& baseline, const std::string& file,
                       std::uint64_t tolerance_percent, const Suppressions& suppressions,
                       const NameFrame& name) {
  Checked checked{.file = file, .next = "", .checks = {}};
  const Differences found = differences(baseline, report, DiffBy::site, DiffAt::peak, name);
  const bool is_choice = report.chosen && report.chosen->by_rows;
  for (const Difference& memory : found.memory) {
    Check check{.what = (is_choice ? "at the peak of " : "peak of ") +
                        memory_text(memory.kind, memory.device),
                .value = memory.after.bytes,
                .limit = allowed(memory.before.bytes, tolerance_percent),
                .baseline = memory.before.bytes};
    if (!check.passed()) check.sites = grown_sites(found, memory.kind, memory.device);
    checked.checks.push_back(std::move(check));
  }
  const std::uint64_t leaked = bytes_of(leaks_of(baseline, suppressions, name));
  Check leaks = leak_check(report, allowed(leaked, tolerance_percent), suppressions, name);
  leaks.baseline = leaked;
  checked.checks.push_back(std::move(leaks));
  return checked;
}

bool all_passed(const std::vector<Checked>& all) {
  return std::all_of(all.begin(), all.end(), [](const Checked& one) {
    return std::all_of(one.checks.begin(), one.checks.end(),
                       [](const Check& check) { return check.passed(); });
  });
}

std::string check_text(const std::vector<Checked>& all, const Page& page, std::size_t most) {
  if (all_passed(all)) return passed_text(all, page);
  std::string text;
  std::string next;
  for (const Checked& one : all) {
    if (all_passed({one})) continue;
    text += coloured("failed: " + printable(one.file, page), Colour::bold, page) + "\n";
    for (const Check& check : one.checks) {
      if (check.passed()) continue;
      text += "\n" + sentence(failure_text(check), page) + sites_text(check, page, most);
    }
    text += "\n";
    if (next.empty()) next = one.next;
  }
  const std::size_t verb = next.find(' ');
  next.insert(verb + 1, filters_for(next.substr(0, verb), page));
  return text + "Next: vramscope " + printable(next, page) + "\n";
}

Columns<Check> check_columns(const std::string& file) {
  using Row = Check;
  const auto baseline = [](const Row& row) {
    return row.baseline ? CellValue(*row.baseline) : CellValue();
  };
  return {{"file", [file](const Row&) { return file; }},
          {"what", [](const Row& row) { return row.what; }},
          {"passed", [](const Row& row) { return row.passed(); }},
          {"unit", [](const Row& row) { return std::string(row.is_count ? "count" : "bytes"); }},
          {"value", [](const Row& row) { return row.value; }},
          {"limit", [](const Row& row) { return row.limit; }},
          {"baseline", baseline}};
}

void add_check_csv(CsvText& csv, const std::vector<Checked>& all) {
  for (const Checked& one : all) add_rows(csv, one.checks, check_columns(one.file), 0);
}

std::string check_json(const std::vector<Checked>& all, std::size_t most) {
  JsonText json;
  json.object().field("passed", all_passed(all)).key("checks").array();
  for (const Checked& one : all) {
    for (const Check& check : one.checks) {
      add_fields(json.object(), check, check_columns(one.file));
      json.key("sites").array();
      for (std::size_t i = 0; i < rows_shown(check.sites.size(), most); ++i) {
        const CheckedSite& site = check.sites[i];
        json.object().field("amount", site.amount).key("sites").array();
        for (const std::int64_t number : site.numbers) json.value(number);
        json.end().key("frames").array();
        for (const std::string& frame : site.frames) json.value(frame);
        json.end().end();
      }
      json.end().end();
    }
  }
  return json.end().end().text();
}

}  // namespace vramscope
