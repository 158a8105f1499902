// One report on one screen.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/report_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/report/reserved_memory.h"
#include "reporter/view/analysis/driver_calls.h"
#include "reporter/view/analysis/leaks/leaked_shares.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/peaks/peak_caches.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/listing/tree_text.h"
#include "reporter/view/text/cupti_text.h"
#include "reporter/view/text/device_text.h"
#include "reporter/view/text/host_text.h"
#include "reporter/view/text/named_memory_text.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/refusals_text.h"
#include "reporter/view/text/suppressed_text.h"
#include "reporter/view/text/totals_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kWarningsShown = 3;

// Behind PyTorch's policy. Where the driver maps no pages segments stay plain.
std::string growth_text(const Report& report) {
  if (!cuts_large_segments(report)) return "";
  std::string_view setting;
  for (const std::string_view name : {"growing_segments", "expandable_segments"}) {
    if (allocator_setting(report, name) == "True") setting = name;
  }
  if (setting.empty()) return "";
  const auto is_plain = [](const DeviceReport& device) {
    return device.used && device.statistics.segment.all.allocated != 0 &&
           device.facts.pages.map.count == 0;
  };
  const bool is_without = std::any_of(report.devices.begin(), report.devices.end(), is_plain);
  return (is_without ? " without " : " with ") + std::string(setting);
}

// Before the time.
std::string how_written(const Report& report) {
  if (trigger_of(report) == Trigger::recovered) {
    const std::string& signal = report.process.ended_by;
    return "recovered; the process " + (signal.empty() ? "died" : "was killed by " + signal) +
           "; last call";
  }
  if (trigger_of(report) == Trigger::imported)
    return report.process.report_time_ns == 0 ? "imported" : "imported; its last event";
  return trigger_text(report.trigger);
}

// "GPU 0, 183 MiB", above the rows that are shares of it.
std::string whole_text(const Report& report, const Share& share) {
  return memory_name(report, share.kind, share.device) + ", " + bytes_text(share.whole) +
         of_all_text(report, share.kind, share.device);
}

// Shares of one memory one after the other, of the memory that held most first.
std::vector<Share> by_memory(std::vector<Share> shares) {
  const auto memory = [](const Share& share) {
    return std::make_tuple(~share.whole, share.kind, share.device);
  };
  std::stable_sort(shares.begin(), shares.end(),
                   [&](const Share& a, const Share& b) { return memory(a) < memory(b); });
  return shares;
}

// The largest first; the first share of each memory counts as the whole of it, so that none is
// hidden behind smaller ones.
std::vector<Share> largest_first(const std::vector<Share>& shares) {
  std::vector<std::pair<std::uint64_t, Share>> weighed;
  for (const Share& share : shares) {
    const bool is_known = std::any_of(weighed.begin(), weighed.end(), [&](const auto& one) {
      return one.second.kind == share.kind && one.second.device == share.device;
    });
    weighed.emplace_back(is_known ? share.bytes : share.whole, share);
  }
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Share> ordered;
  for (const auto& [weight, share] : weighed) ordered.push_back(share);
  return ordered;
}

std::string with_note(const std::string& heading, const Report& report) {
  const std::string estimates = sampling_text(report);
  return estimates.empty() ? heading : heading + " (" + estimates + ")";
}

// "and 7 more rows, 24.0 MiB"; of several memories each by its name.
std::string rest_text(const Report& report, const std::vector<Share>& shares, std::size_t shown,
                      const Page& page) {
  if (shown >= shares.size()) return "";
  std::map<std::pair<Kind, std::uint16_t>, std::uint64_t> rest;
  bool is_of_one = true;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    is_of_one =
        is_of_one && shares[i].kind == shares[0].kind && shares[i].device == shares[0].device;
    if (i >= shown) rest[{shares[i].kind, shares[i].device}] += shares[i].bytes;
  }
  std::string text = "and " + counted(shares.size() - shown, "more row");
  for (const auto& [memory, bytes] : rest) {
    const std::string name =
        is_of_one ? "" : memory_name(report, memory.first, memory.second) + " ";
    text += ", " + name + bytes_text(bytes);
  }
  return paragraph(text, page);
}

// The shares of each memory add up to its own peak: they stand below its name.
SiteListing peak_rows(const std::vector<Share>& ordered, const Report& report,
                      const NameFrame& name, const Page& page) {
  const Columns<Share> columns =
      picked(share_columns(report, name), {"REQUESTED", "SHARE", "COUNT"});
  SiteListing table(report, name, titles_of(columns, {{"WHERE"}}));
  std::string whole = whole_text(report, ordered.front());
  for (const Share& share : ordered) {
    if (whole != whole_text(report, share)) table.add_heading(whole_text(report, share) + ":");
    whole = whole_text(report, share);
    table.add(text_cells(columns, share, page), static_cast<std::int64_t>(share.site));
  }
  return table;
}

// A tree for each memory.
Document peak_trees(std::vector<Share> rest, const Report& report, const NameFrame& name,
                    const Page& page, std::size_t most) {
  Document text;
  while (!rest.empty()) {
    const Share first = rest.front();
    const auto end = std::find_if(rest.begin(), rest.end(), [&](const Share& share) {
      return share.kind != first.kind || share.device != first.device;
    });
    if (!text.is_empty()) text.paragraph(whole_text(report, first));
    text.append(tree_text(report, name, {rest.begin(), end}, "REQUESTED", page, most));
    rest.erase(rest.begin(), end);
  }
  return text;
}

std::string peak_heading(const Report& report) {
  if (!tells_frees(report)) return "Live at the snapshot: ";
  return is_of_several(report) ? "What made up the sum of peaks: " : "What made up the peak: ";
}

// Rows of a framework's cache show who made it grow, not what the program holds.
void add_caches(Document& text, const Report& report, const NameFrame& name) {
  for (const CacheAtPeak& held : caches_at_peak(report, name)) {
    text.paragraph(
        std::string(held.cache.name) + " held " + bytes_text(held.bytes) + " of " +
            memory_name(report, held.kind.kind, held.kind.device) +
            " memory, live or idle; in the rows of this cache, WHERE is the call site that "
            "made the cache grow",
        kWhereAllIs);
  }
}

using MostIn = std::function<std::size_t(const ScreenRoom&)>;  // rows; 0: all

void add_peak_sites(Document& text, const std::vector<Share>& all, const MostIn& most,
                    const Report& report, const NameFrame& name, const Page& page) {
  if (all.empty()) return;
  const std::vector<Share> shares = largest_first(all);
  const auto ordered = [shares](std::size_t shown) {
    return by_memory({shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shown)});
  };
  const auto title = [=, &report](std::size_t shown) {
    return with_note(peak_heading(report) + whole_text(report, ordered(shown).front()), report);
  };
  if (page.stacks == Stacks::as_tree) {
    text.gap();
    text.heading(title(rows_shown(shares.size(), most({}))));
    text.append(peak_trees(by_memory(shares), report, name, page, most({})));
    return add_caches(text, report, name);
  }
  const auto listing = [=, &report](std::size_t shown) {
    return peak_rows(ordered(shown), report, name, page);
  };
  const auto below = [=, &report](std::size_t shown) {
    return rest_text(report, shares, shown, page);
  };
  const auto above = [=](std::size_t shown) { return part_title(title(shown), page); };
  text.table(rows_of(
      {.all = shares.size(), .listing = listing, .above = above, .below = below, .most = most},
      page));
  add_caches(text, report, name);
}

RowsBlock live_rows(const std::vector<Share>& shares, const MostIn& most, const Report& report,
                    const NameFrame& name, const Page& page) {
  const auto listing = [=, &report](std::size_t shown) {
    return site_listing(report, name, share_columns(report, name), first_rows(shares, shown),
                        &Share::site, "WHERE", page);
  };
  const auto below = [=, &report](std::size_t shown) {
    return rest_text(report, shares, shown, page);
  };
  return rows_of({.all = shares.size(), .listing = listing, .below = below, .most = most}, page);
}

void add_live_sites(Document& text, const std::string& heading, const std::vector<Share>& shares,
                    const MostIn& most, const Report& report, const NameFrame& name,
                    const Page& page) {
  if (heading.empty()) return;
  text.gap();
  text.heading(with_note(heading, report));
  if (shares.empty()) return;
  if (page.stacks == Stacks::as_tree) {
    text.append(tree_text(report, name, shares, "REQUESTED", page, most({})));
  } else {
    text.table(live_rows(shares, most, report, name, page));
  }
}

// "": all was freed.
std::string alive_heading(const Report& report, const Leaked& alive) {
  std::uint64_t count = 0;
  for (const Share& share : alive.shares) count += share.count;
  const std::string kept = suppressed_clause(alive.leaks);
  const std::string what = never_freed_text(report) + ": ";
  if (alive.shares.empty()) return kept.empty() ? "" : what + "only" + kept;
  return what + bytes_text(alive.shares.front().whole) + " in " + counted(count, "allocation") +
         (kept.empty() ? "" : ", and" + kept);
}

// Of what is still there: what came at the end is nearly always in use, not lost.
std::string late_line(const Report& report, const Leaked& alive) {
  constexpr std::size_t kTenths = 10;
  std::map<std::size_t, std::uint64_t> left;  // by site, which has several kinds of memory, perhaps
  for (const Share& share : alive.shares) left[share.site] += share.bytes;
  std::uint64_t late = 0;
  for (const auto& [index, bytes] : left) {
    const Site& site = report.sites[index];
    if (site.live_by_age.size() == kTenths) late += std::min(site.live_by_age.back(), bytes);
  }
  return late == 0 ? ""
                   : bytes_text(late) + " was allocated in the last tenth of the run's " +
                         (is_measured_in_time(report) ? "time" : "allocations");
}

// What is missing on the screen because the report is newer than this version.
std::string unknown_text(const Report& report) {
  std::string names;
  for (const std::string& name : report.unknown) names += (names.empty() ? "" : ", ") + name;
  return "not shown, being unknown to this vramscope: " + names;
}

Document warnings_text(const Report& report) {
  std::vector<std::string> warnings;
  if (!report.unknown.empty()) warnings.push_back(unknown_text(report));
  if (report.unrecorded_calls != 0) {
    warnings.push_back(counted(report.unrecorded_calls, "call") + " went unrecorded");
  }
  if (report.dropped_stacks != 0) {
    warnings.push_back("the table of call sites was full for " +
                       counted(report.dropped_stacks, "call"));
  }
  warnings.insert(warnings.end(), report.warnings.begin(), report.warnings.end());
  Document text;
  for (std::size_t i = 0; i < std::min(kWarningsShown, warnings.size()); ++i) {
    text.paragraph("warning: " + warnings[i], {}, Colour::yellow);
  }
  if (warnings.size() > kWarningsShown) {
    text.paragraph("and " + count_text(warnings.size() - kWarningsShown) + " more warnings");
  }
  return text;
}

// The verb that leads on.
const char* next_of(const Report& report, const Leaked& leaked) {
  if (report.oom.count != 0) return "oom";
  if (shares_of_peak(report).empty() && shares_alive(report).empty()) return "stats";
  if (leaks_lead(report, leaked.leaks)) return "leaks";
  return !report.chosen && took_much(report) ? "calls" : "peak";
}

}  // namespace

Document report_head(const Report& report) {
  const ProcessFacts& process = report.process;
  const std::size_t merged = report.processes.size();
  std::string who =
      merged == 0 ? "pid " + std::to_string(process.pid)
                  : count_text(merged) + (merged == 1 ? " process" : " processes") + " merged";
  if (!process.hostname.empty()) who += " on " + process.hostname;
  if (process.rank >= 0) who += ", rank " + std::to_string(process.rank);
  if (process.rank >= 0 && process.world_size > 0)
    who += " of " + std::to_string(process.world_size);
  if (trigger_of(report) == Trigger::imported) {
    who = process.mode;  // nothing is known of the process
  } else if (!process.mode.empty()) {
    who += ", mode " + process.mode;
  }
  if (process.mode == "cache") {  // the only one that the policy is of; older versions had none
    for (const auto& [name, value] : process.options) {
      if (name == "policy") who += ", policy " + value;
    }
    who += growth_text(report);
  }
  if (process.cuda_driver_version > 0) {
    who += ", CUDA " + std::to_string(process.cuda_driver_version / 1000) + "." +
           std::to_string(process.cuda_driver_version % 1000 / 10);
  }
  if (process.simulated) who += ", on the simulated device";

  std::string when = "report " + std::to_string(report.sequence) + ", " + how_written(report);
  if (process.report_time_ns != 0) when += " " + time_text(process.report_time_ns);
  const std::uint64_t first_ns = report.timeline.start_ns;
  if (first_ns != 0 && process.report_time_ns >= first_ns) {
    when +=
        ", " + duration_text(process.report_time_ns - first_ns) + " after the first call (time 0)";
  } else if (process.start_time_ns != 0 && process.report_time_ns >= process.start_time_ns) {
    when += ", after " + duration_text(process.report_time_ns - process.start_time_ns);
  }
  if (process.simulated_launches != 0) {
    when += ", " + counted(process.simulated_launches, "kernel") + " accepted but not executed";
  }
  Document text;
  text.heading(command_line(report.process));
  text.paragraph(who);
  text.paragraph(when);
  if (merged > 1) {
    text.paragraph(
        "each peak is the sum of the processes' own peaks, which may have occurred at different "
        "times; current values are added likewise");
  }
  return text;
}

Document report_in_brief(const ShownReport& shown, const NameFrame& name, const Page& page,
                         const std::function<std::size_t(const ScreenRoom&)>& most) {
  const Report& report = shown.report;
  Document text;
  add_peak_sites(text, shares_of_peak(report), most, report, name, page);
  return text;
}

Document report_text(const ShownReport& shown, const NameFrame& name, const Page& page,
                     const RowChoice& choice) {
  const Report& report = shown.report;
  const auto most = [usual = choice.most](const ScreenRoom& room) { return room.most(usual); };
  const auto half = [most](const ScreenRoom& room) { return (most(room) + 1) / 2; };
  const Columns<Share> columns = share_columns(report, name);
  std::vector<Share> peak = shares_of_peak(report);
  Leaked alive = shown.leaked;
  arrange(peak, columns, choice);
  arrange(alive.shares, columns, choice);
  Document text = report_head(report);
  text.append(devices_text(report, page));
  text.paragraph(other_refusals(report));
  const bool is_nothing = peak.empty() && alive.shares.empty() && report.chosen;
  if (is_nothing) {
    text.gap();
    text.append(nothing_text(report));
  }
  add_peak_sites(text, peak, most, report, name, page);
  add_live_sites(text, alive_heading(report, alive), alive.shares, half, report, name, page);
  text.paragraph(late_line(report, alive));
  text.append(host_text(report));
  text.append(named_memory_text(report));
  text.append(cupti_text(report));
  text.append(totals_text(report, shown.leaked), kUnlessRepeated);
  text.append_apart(warnings_text(report));
  if (!is_nothing || report.oom.count != 0) text.next(next_of(report, shown.leaked), shown.path);
  return text;
}

}  // namespace vramscope
