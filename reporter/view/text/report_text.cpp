// One report on one screen.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/report_text.h"

#include <algorithm>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/text/digest.h"

namespace vramscope {
namespace {

constexpr std::size_t kBarCells = 24;
constexpr std::size_t kWarningsShown = 3;
constexpr std::size_t kDevicesInFull = 1;  // more of them get one line each

std::uint64_t positive(std::int64_t value) {
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

std::string title(std::string_view text, const Page& page) {
  return "\n" + coloured(fitted(text, page.width), Colour::bold, page) + "\n";
}

std::string line(const std::string& text, const Page& page) {
  return fitted("  " + text, page.width) + "\n";
}

std::string command_line(const Report& report, const Page& page) {
  std::string result;
  for (const std::string& argument : report.process.arguments) {
    if (!result.empty()) result += ' ';
    result += printable(argument, page);
  }
  return result.empty() ? printable(report.process.executable, page) : result;
}

std::string trigger_text(const Report& report) {
  if (report.trigger == "exit") return "at exit";
  if (report.trigger == "exec") return "before exec";
  if (report.trigger == "signal") return "on a signal";
  return "for the reason '" + report.trigger + "'";  // of a newer version
}

std::string what_ran(const Report& report, const Page& page) {
  const ProcessFacts& process = report.process;
  std::string who = "pid " + std::to_string(process.pid);
  if (!process.hostname.empty()) who += " on " + printable(process.hostname, page);
  if (process.rank >= 0) who += ", rank " + std::to_string(process.rank);
  who += ", mode " + printable(process.mode, page);
  if (process.cuda_driver_version > 0) {
    who += ", CUDA " + std::to_string(process.cuda_driver_version / 1000) + "." +
           std::to_string(process.cuda_driver_version % 1000 / 10);
  }
  if (process.simulated) who += ", on the simulated device";

  std::string when = "report " + std::to_string(report.sequence) + ", written " +
                     printable(trigger_text(report), page) + " " +
                     time_text(process.report_time_ns);
  if (process.start_time_ns != 0 && process.report_time_ns >= process.start_time_ns) {
    when += ", after " + duration_text(process.report_time_ns - process.start_time_ns);
  }
  if (process.simulated_launches != 0) {
    when += ", " + counted(process.simulated_launches, "kernel") + " accepted, not executed";
  }
  return coloured(fitted(command_line(report, page), page.width), Colour::bold, page) + "\n" +
         line(who, page) + line(when, page);
}

std::string savings_text(const DeviceReport& device) {
  const Savings saved = savings(device.timing);
  if (saved.allocations == 0) return "no allocation succeeded";
  std::string result = counted(saved.allocations, "allocation") + ", " +
                       percent_text(saved.hits, saved.allocations) + " from the cache";
  if (saved.driver_calls == 0) return result;
  result += ": " + counted(saved.driver_calls, "driver call") + " saved";
  if (saved.saved_ns != 0) result += ", about " + duration_text(saved.saved_ns) + " (estimated)";
  return result;
}

// "reserved   peak 1.25 GiB  [####....]   0.9 % of 139 GiB, now 0 B".
std::string level_line(const std::string& name, const Stat& stat, std::uint64_t whole,
                       const Page& page) {
  const std::uint64_t peak = positive(stat.peak);
  std::string bytes = bytes_text(stat.peak);
  bytes.insert(0, bytes.size() < 9 ? 9 - bytes.size() : 0, ' ');
  std::string result = name + "  peak " + bytes;
  if (whole != 0) {
    result += "  [" + bar(peak, whole, kBarCells, page) + "]  " + percent_text(peak, whole) +
              " of " + bytes_text(whole);
  }
  return line(result + ", now " + bytes_text(stat.current), page);
}

// As the program saw it.
std::uint64_t capacity(const DeviceReport& device) {
  const DeviceFacts& facts = device.facts;
  const bool is_limited = facts.limit_bytes != 0 && facts.limit_bytes < facts.total_bytes;
  return is_limited ? facts.limit_bytes : facts.total_bytes;
}

std::string device_in_full(const DeviceReport& device, const Page& page) {
  const DeviceStatistics& stats = device.statistics;
  std::string result =
      title("GPU " + std::to_string(device.facts.index) + "  " + printable(device.facts.name, page),
            page);
  const std::uint64_t size = capacity(device);
  result += level_line("reserved ", stats.reserved_bytes.all, size, page);
  result += level_line("allocated", stats.allocated_bytes.all, size, page);
  if (device.facts.limit_bytes != 0) {
    result += line("limited to " + bytes_text(device.facts.limit_bytes) + " of " +
                       bytes_text(device.facts.total_bytes) + ": " +
                       counted(device.facts.limit_refusals, "request") + " refused",
                   page);
  }
  result += line(savings_text(device), page);
  if (stats.num_ooms != 0 || stats.num_alloc_retries != 0) {
    const std::string trouble =
        "out of memory " + counted(static_cast<std::uint64_t>(stats.num_ooms), "time") +
        "; cache emptied to retry " +
        counted(static_cast<std::uint64_t>(stats.num_alloc_retries), "time");
    result += "  " + coloured(trouble, Colour::red, page) + "\n";
  }
  return result;
}

std::string devices_in_brief(const std::vector<const DeviceReport*>& devices, const Page& page) {
  using enum Table::Align;
  Table table({{"GPU", right},
               {"RESERVED PEAK", right},
               {"OF CAPACITY", right},
               {"", left},
               {"ALLOCATED PEAK", right},
               {"ALLOCATIONS", right},
               {"HITS", right},
               {"OOM", right}});
  for (const DeviceReport* device : devices) {
    const DeviceStatistics& stats = device->statistics;
    const Savings saved = savings(device->timing);
    const std::uint64_t peak = positive(stats.reserved_bytes.all.peak);
    table.add({std::to_string(device->facts.index), bytes_text(peak),
               percent_text(peak, capacity(*device)),
               bar(peak, capacity(*device), kBarCells / 2, page),
               bytes_text(stats.allocated_bytes.all.peak), count_text(saved.allocations),
               percent_text(saved.hits, saved.allocations), count_text(stats.num_ooms)});
  }
  return title(std::to_string(devices.size()) + " GPUs", page) + table.text(page);
}

std::string devices_text(const Report& report, const Page& page) {
  std::vector<const DeviceReport*> used;
  for (const DeviceReport& device : report.devices) {
    if (device.used) used.push_back(&device);
  }
  if (used.empty()) return "\n  No device memory was allocated.\n";
  if (used.size() > kDevicesInFull) return devices_in_brief(used, page);
  std::string result;
  for (const DeviceReport* device : used) result += device_in_full(*device, page);
  return result;
}

std::string sites_text(const std::string& heading, const std::vector<Share>& shares,
                       std::size_t most, const Report& report, const NameFrame& name,
                       const Page& page) {
  if (shares.empty()) return "";
  using enum Table::Align;
  Table table(
      {{"BYTES", right}, {"SHARE", right}, {"COUNT", right}, {"MEMORY", left}, {"WHERE", left}});
  const std::size_t shown = rows_shown(shares.size(), most);
  std::string written;  // last
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Share& share = shares[i];
    if (i >= shown) {
      rest += share.bytes;
      continue;
    }
    const CallSite site = call_site(report, report.sites[share.site], name, kFramesShown);
    table.add({bytes_text(share.bytes), percent_text(share.bytes, share.whole),
               count_text(share.count), memory_text(share.kind, share.device),
               printable(text(site), page)});
    add_source_line(table, site, page, written);
  }
  const std::string estimates = sampling_text(report);
  const std::string note = estimates.empty() ? "" : " (" + estimates + ")";
  std::string result = title(heading + note, page) + table.text(page);
  if (shown == shares.size()) return result;
  return result +
         line("and " + count_text(shares.size() - shown) + " more, " + bytes_text(rest), page);
}

std::string alive_heading(const Report& report, const std::vector<Share>& alive) {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  for (const Share& share : alive) {
    bytes += share.bytes;
    count += share.count;
  }
  const std::string what = is_final(report) ? "Never freed: " : "Allocated now: ";
  return what + bytes_text(bytes) + " in " + counted(count, "allocation");
}

// Of what is still there: what came at the end is nearly always in use, not lost.
std::string late_line(const Report& report, const Page& page) {
  std::uint64_t late = 0;
  for (const Site& site : report.sites) {
    constexpr std::size_t kTenths = 10;
    if (site.live_by_age.size() == kTenths) late += site.live_by_age.back();
  }
  return late == 0 ? "" : line(bytes_text(late) + " came in the last tenth of the run", page);
}

std::string kind_line(const Report& report, Kind kind, const Page& page) {
  const KindBytes bytes = bytes_of(report, kind);
  if (bytes.calls == 0) return "";
  std::string name = kind_text(kind);
  name.resize(std::max<std::size_t>(name.size(), 10), ' ');
  return line(name + "  peak " + bytes_text(bytes.peak) + ", now " + bytes_text(bytes.current) +
                  ", " + counted(bytes.calls, "call"),
              page);
}

std::string time_of_calls(const std::string& name, const Duration& time) {
  if (time.count == 0) return "";
  return name + " " + duration_text(time.total_ns) + " in " + counted(time.count, "call") +
         " (longest " + duration_text(time.max_ns) + ")";
}

std::string other_memory(const Report& report, const Page& page) {
  std::string result;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (static_cast<Kind>(kind) == Kind::device) continue;  // it has a section of its own
    result += kind_line(report, static_cast<Kind>(kind), page);
  }
  if (result.empty()) return "";
  const std::string pinning = time_of_calls("pinning took", report.host.timing.alloc_driver);
  const std::string unpinning = time_of_calls("unpinning", report.host.timing.free_driver);
  const std::string between = pinning.empty() || unpinning.empty() ? "" : ", ";
  if (!pinning.empty() || !unpinning.empty()) result += line(pinning + between + unpinning, page);
  if (const std::string saved = pinned_text(report); !saved.empty()) result += line(saved, page);
  return title("Host and other memory", page) + result;
}

std::string difference_text(const CuptiDifference& row, const Page& page) {
  std::string result = memory_text(row.kind, row.device) + ": ";
  switch (row.what) {
    case Disagreement::not_recorded:
      result += bytes_text(row.cupti_bytes) + " not recorded";
      break;
    case Disagreement::not_seen:
      result += bytes_text(row.recorded_bytes) + " recorded, not seen by CUPTI";
      break;
    case Disagreement::other_size:
      result += count_text(row.recorded_bytes) + " bytes recorded, " + count_text(row.cupti_bytes) +
                " seen by CUPTI";
      break;
  }
  return row.source.empty() ? result : result + ", asked for by " + printable(row.source, page);
}

std::string cupti_text(const Report& report, const Page& page) {
  constexpr std::size_t kDifferencesShown = 3;
  if (!report.cupti) return "";
  const CuptiFacts& cupti = *report.cupti;
  std::string result = title("CUPTI", page);
  result += line("confirms " + counted(cupti.confirmed_segments, "segment") + " of " +
                     bytes_text(cupti.confirmed_bytes) + " by " + counted(cupti.records, "record") +
                     "; " + counted(cupti.difference_count, "difference"),
                 page);
  const std::size_t shown = std::min(kDifferencesShown, cupti.differences.size());
  for (std::size_t i = 0; i < shown; ++i) {
    result += line(difference_text(cupti.differences[i], page), page);
  }
  if (cupti.difference_count > shown) {
    result += line("and " + count_text(cupti.difference_count - shown) + " more", page);
  }
  return result;
}

// What is missing on the screen because the report is newer than this version.
std::string unknown_text(const Report& report, const Page& page) {
  std::string names;
  for (const std::string& name : report.unknown) {
    names += (names.empty() ? "" : ", ") + printable(name, page);
  }
  return "not shown, being unknown to this vramscope: " + names;
}

std::string warnings_text(const Report& report, const Page& page) {
  std::vector<std::string> warnings;
  if (!report.unknown.empty()) warnings.push_back(unknown_text(report, page));
  if (report.unrecorded_calls != 0) {
    warnings.push_back(counted(report.unrecorded_calls, "call") + " went unrecorded");
  }
  if (report.dropped_stacks != 0) {
    warnings.push_back("the table of call sites was full for " +
                       counted(report.dropped_stacks, "call"));
  }
  for (const std::string& warning : report.warnings) warnings.push_back(printable(warning, page));
  if (warnings.empty()) return "";
  std::string result = "\n";
  for (std::size_t i = 0; i < std::min(kWarningsShown, warnings.size()); ++i) {
    const std::string text = fitted("warning: " + warnings[i], page.width - 2);
    result += "  " + coloured(text, Colour::yellow, page) + "\n";
  }
  if (warnings.size() <= kWarningsShown) return result;
  return result +
         line("and " + count_text(warnings.size() - kWarningsShown) + " more warnings", page);
}

}  // namespace

std::string pinned_text(const Report& report) {
  const Savings saved = pinned_savings(report);
  if (saved.hits == 0) return "";
  const Duration driver = pinned_driver_time(report);
  std::string result = "pinned: " + count_text(saved.hits) + " of " +
                       counted(saved.allocations, "allocation") + " from the cache";
  if (driver.count == 0) return result;
  result +=
      "; the driver took " + duration_text(driver.total_ns) + " for " + count_text(driver.count);
  if (saved.saved_ns == 0) return result;
  return result + ", about " + duration_text(saved.saved_ns) + " saved (estimated)";
}

std::string report_text(const Report& report, const std::string& path, const NameFrame& name,
                        const Page& page, std::size_t most) {
  const std::vector<Share> peak = shares_of_peak(report);
  const std::vector<Share> alive = shares_alive(report);
  return what_ran(report, page) + devices_text(report, page) +
         sites_text("What made the peak", peak, most, report, name, page) +
         sites_text(alive_heading(report, alive), alive, most == 0 ? 0 : (most + 1) / 2, report,
                    name, page) +
         (alive.empty() ? "" : late_line(report, page)) + other_memory(report, page) +
         cupti_text(report, page) + warnings_text(report, page) + "\nNext: vramscope stats " +
         printable(shell_word(path), page) + "\n";
}

}  // namespace vramscope
