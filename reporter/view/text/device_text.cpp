// What each GPU held, as the screen of a report shows it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/device_text.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "reporter/report/gpus.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/device_peaks.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/savings.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/device_levels.h"
#include "reporter/view/text/idle_text.h"
#include "reporter/view/text/refusals_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kDevicesInFull = 1;  // more of them get one line each

UsedDevice& device_of(std::vector<UsedDevice>& devices, std::uint16_t index) {
  for (UsedDevice& device : devices) {
    if (device.index == index) return device;
  }
  return devices.emplace_back(UsedDevice{.index = index});
}

bool has_any(const KindFacts& kind) { return kind.allocations != 0 || kind.peak_bytes != 0; }

// Under a filter: of the device's memory, whatever its kind.
bool any_passes(const Report& report, unsigned device) {
  return std::any_of(report.kinds.begin(), report.kinds.end(), [device](const KindFacts& kind) {
    return has_device(kind.kind) && kind.device == device && has_any(kind);
  });
}

std::vector<UsedDevice> used_devices(const Report& report) {
  std::vector<UsedDevice> result;
  for (const DeviceReport& device : report.devices) {
    device_of(result, device.facts.index).report = &device;
  }
  const bool is_choice = report.chosen && report.chosen->by_rows;  // the screen is of all then
  for (const KindFacts& kind : is_choice ? report.chosen->kinds : report.kinds) {
    const bool counts =
        takes_device_memory(kind.kind) && kind.kind != Kind::device && has_any(kind);
    if (counts && (!is_choice || any_passes(report, kind.device)))
      device_of(result, kind.device).others.push_back(kind);
  }
  std::erase_if(result, [](const UsedDevice& device) {
    return device.others.empty() && !device.report->used;
  });
  const std::vector<GpuPeaks> uses = device_peaks(report);
  for (UsedDevice& device : result) {
    device.adds_peaks = is_of_several(report);
    for (const GpuPeaks& use : uses) {
      if (use.device == device.index) device.use = use;
    }
    std::stable_sort(device.others.begin(), device.others.end(),
                     [](const auto& a, const auto& b) { return a.peak_bytes > b.peak_bytes; });
  }
  return result;
}

// "34 allocations, 29 from the cache (85.3 %); the cache kept the memory of 33 frees: 62 driver
// calls saved".
std::string savings_text(const Report& report, const DeviceReport& device, bool has_cache) {
  const Savings saved = device_savings(report, device);
  const std::int64_t counted_ones = device.statistics.allocation.all.allocated;
  if (saved.allocations == 0 && counted_ones > 0) {  // nobody knows how they were served
    return counted(static_cast<std::uint64_t>(counted_ones), "allocation");
  }
  if (saved.allocations == 0) return "no allocation succeeded";
  std::string result = counted(saved.allocations, "allocation");
  if (!has_cache && saved.hits + saved.kept_frees == 0) return result + ", by the driver";
  result += saved.hits == 0 ? ", none from the cache"
                            : ", " + count_text(saved.hits) + " from the cache (" +
                                  percent_text(saved.hits, saved.allocations) + ")";
  if (saved.kept_frees != 0)
    result += "; the cache kept the memory of " + counted(saved.kept_frees, "free");
  if (saved.given_back_later != 0) {
    result += std::string(saved.kept_frees != 0 ? " and" : "; the cache") + " later released " +
              counted(saved.given_back_later, "segment");
  }
  const std::uint64_t spared = saved.driver_calls.value_or(0);
  return spared == 0 ? result : result + ": " + counted(spared, "driver call") + " saved";
}

std::string saved_time_text(const Report& report, const DeviceReport& device) {
  const std::string saved = saved_text(device_savings(report, device));
  return saved.empty() ? "" : "the cache saved " + saved;
}

// What the driver's pools keep of it, which the program does not hold any more.
std::string pools_text(const UsedDevice& device, const KindFacts& kind) {
  const bool is_theirs = kind.kind == Kind::stream_ordered && device.report != nullptr;
  const std::uint64_t kept = is_theirs ? device.report->facts.pool_bytes : 0;
  return kept == 0 ? "" : "; the driver's pools keep " + amount_text(kept) + " beyond live memory";
}

// "stream_ordered peak 64.0 MiB, now 0 B; managed peak 40.0 MiB, now 0 B".
std::string other_kinds_without_bars(const UsedDevice& device, std::span<const KindFacts> kinds) {
  std::string text;
  for (const KindFacts& kind : kinds) {
    text += (text.empty() ? "" : "; ") + kind_text(kind.kind) +
            (device.adds_peaks ? " sum of peaks " : " peak ") + amount_text(kind.peak_bytes) +
            ", now " + amount_text(kind.current_bytes);
  }
  return text;
}

void add_other_kinds(Document& text, const UsedDevice& device, std::span<const KindFacts> kinds,
                     const Page& page) {
  for (const KindFacts& kind : kinds) {
    text.paragraph(level_text(device, kind_text(kind.kind), name_cells_of(device), kind.peak_bytes,
                              static_cast<std::int64_t>(kind.current_bytes), page) +
                       ", " + counted(kind.allocations, "call") + pools_text(device, kind),
                   kWithBars);
  }
  text.paragraph(other_kinds_without_bars(device, kinds), kWithoutBars);
}

// "reserved peak 448 MiB, now 348 MiB, 96.0 MiB of it idle; allocated ..; requested ..; of 512
// MiB".
std::string levels_without_bars(const UsedDevice& used, const ReservedMemory& memory) {
  const DeviceStatistics& stats = used.report->statistics;
  const std::string word = used.adds_peaks ? " sum of peaks " : " peak ";
  const auto level = [&](const char* name, const Stat& stat) {
    return name + word + bytes_text(stat.peak) + ", now " + bytes_text(stat.current);
  };
  std::string text =
      level("reserved", stats.reserved_bytes.all) + idle_now_text(memory) + "; " +
      (allocated_peak(*used.report) ? level("allocated", stats.allocated_bytes.all) + "; " : "") +
      level("requested", stats.requested_bytes.all);
  if (const std::uint64_t whole = capacity(used); whole != 0) text += "; of " + amount_text(whole);
  return text;
}

// A snapshot without history has no peaks.
std::string memory_at_snapshot(const DeviceStatistics& stats, const ReservedMemory& memory) {
  const std::int64_t allocated = stats.allocated_bytes.all.current;
  return "at the snapshot " + amount_text(memory.now) + " reserved" + idle_now_text(memory) +
         (allocated < 0 ? "" : ", " + bytes_text(allocated) + " allocated") + ", " +
         bytes_text(stats.requested_bytes.all.current) + " requested; the peak is not in the file";
}

void add_plain_memory(Document& text, const Report& report, const UsedDevice& used, bool has_cache,
                      const Page& page) {
  const DeviceReport& device = *used.report;
  const ReservedMemory memory = reserved_memory(report, device);
  const std::size_t cells = name_cells_of(used);
  const DeviceStatistics& stats = device.statistics;
  if (!tells_frees(report)) return text.paragraph(memory_at_snapshot(stats, memory));
  const auto level = [&](const char* name, const Stat& stat) {
    return level_text(used, name, cells, positive(stat.peak), stat.current, page);
  };
  text.paragraph(level("reserved", stats.reserved_bytes.all) + idle_now_text(memory), kWithBars);
  // Of a file of another tool the peak is not known, or nothing is.
  const std::int64_t allocated = stats.allocated_bytes.all.current;
  if (allocated >= 0) {
    text.paragraph(level_text(used, "allocated", cells, allocated_peak(device), allocated, page),
                   kWithBars);
  }
  text.paragraph(level("requested", stats.requested_bytes.all), kWithBars);
  text.paragraph(levels_without_bars(used, memory), kWithoutBars);
  text.paragraph(needed_text(report, memory));
  text.paragraph(savings_text(report, device, has_cache), kWhereAllIs);
  text.paragraph(saved_time_text(report, device), kWhereAllIs);
  text.paragraph(trouble_text(report, device), {}, Colour::red);
}

std::string limit_text(const UsedDevice& device) {
  const DeviceFacts& facts = device.report->facts;
  if (facts.limit_bytes == 0) return "";
  const std::string refused = ": " + counted(facts.limit_refusals, "request") + " refused";
  if (device.adds_peaks)
    return "the processes' limits add up to " + bytes_text(facts.limit_bytes) + refused;
  return "limited to " + bytes_text(facts.limit_bytes) + " of " + bytes_text(facts.total_bytes) +
         refused;
}

// "512 pages mapped in 40 calls, 12.3 ms (longest 1.2 ms), 30 unmapped, 2.1 ms (longest 80 us)".
std::string pages_text(const PageTimes& pages) {
  if (pages.map.count == 0) return "";
  const auto took = [](std::uint64_t ns, std::uint64_t longest) {
    return ", " + duration_text(ns) + " (longest " + duration_text(longest) + ")";
  };
  std::string result = counted(pages.map.count, "page") + " mapped in " +
                       counted(pages.access.count, "call") +
                       took(pages.map.total_ns + pages.access.total_ns,
                            std::max(pages.map.max_ns, pages.access.max_ns));
  if (pages.unmap.count != 0) {
    result += ", " + count_text(pages.unmap.count) + " unmapped" +
              took(pages.unmap.total_ns, pages.unmap.max_ns);
  }
  return result;
}

// "all kinds together: peak 185 MiB requested, at most 190 MiB reserved", after what says whose; ""
// of one kind.
std::string together_text(const Report& report, const UsedDevice& device,
                          const std::string& whose) {
  for (const JointBounds& joint : report.joint_bounds) {
    if (joint.device != device.index) continue;
    return whose + "all kinds together: peak " + bounds_text({joint.lower, joint.upper}) +
           " requested" + reserved_words(device);
  }
  return "";
}

void add_in_full(Document& text, const Report& whole, const UsedDevice& device,
                 std::string_view note, const Page& page) {
  const DeviceReport* const report = device.report;
  const bool has_cache = whole.process.mode != "observe";
  std::string heading = gpu_name(whole, device.index);
  if (report != nullptr && !report->facts.name.empty()) {
    heading += "  " + printable(report->facts.name, page);
  }
  if (report != nullptr) heading += unified_words(report->facts);
  heading += note;
  text.gap();
  text.heading(heading);
  add_used_level(text, device, name_cells_of(device), "", page);
  const std::span<const KindFacts> others = device.others;  // the largest first
  std::size_t larger = 0;  // than plain memory, which stands behind
  if (report != nullptr && report->used) {
    const auto plain = positive(report->statistics.requested_bytes.all.peak);
    while (larger < others.size() && others[larger].peak_bytes > plain) ++larger;
    add_other_kinds(text, device, others.first(larger), page);
    add_plain_memory(text, whole, device, has_cache, page);
    text.paragraph(pages_text(report->facts.pages));
  }
  add_other_kinds(text, device, others.subspan(larger), page);
  text.paragraph(together_text(whole, device, ""));
  if (report != nullptr) text.paragraph(limit_text(device));
}

Document devices_in_brief(const Report& whole, const std::vector<UsedDevice>& devices,
                          std::string_view note, const Page& page) {
  using enum Table::Align;
  const bool adds = devices.front().adds_peaks;
  std::vector<Table::Column> columns{{"GPU", right},
                                     {adds ? "RESERVED PEAKS ADDED" : "RESERVED PEAK", right},
                                     {"NEEDED AT MOST", right}};
  if (!adds) columns.insert(columns.end(), {{"OF CAPACITY", right}, {"", left, 2}});
  columns.insert(columns.end(), {{adds ? "REQUESTED PEAKS ADDED" : "REQUESTED PEAK", right},
                                 {"ALLOCATIONS", right},
                                 {"FROM CACHE", right, 1},
                                 {"OOM", right}});
  Table table(std::move(columns));
  Document others;
  std::uint64_t idle = 0;
  std::size_t cells = 0;
  for (const UsedDevice& device : devices) cells = std::max(cells, name_cells_of(device));
  for (const UsedDevice& device : devices) {
    for (const KindFacts& kind : device.others) {
      others.paragraph(gpu_name(whole, device.index) + "  " +
                       level_text(device, kind_text(kind.kind), cells, kind.peak_bytes,
                                  static_cast<std::int64_t>(kind.current_bytes), page));
    }
    others.paragraph(together_text(whole, device, gpu_name(whole, device.index) + ", "));
    add_used_level(others, device, cells, gpu_name(whole, device.index) + "  ", page);
    if (device.report == nullptr || !device.report->used) continue;
    const DeviceStatistics& stats = device.report->statistics;
    const Savings saved = device_savings(whole, *device.report);
    const std::uint64_t peak = positive(stats.reserved_bytes.all.peak);
    const ReservedMemory memory = reserved_memory(whole, *device.report);
    idle += memory.idle_at_peak();
    std::vector<std::string> row{gpu_name(whole, device.index).substr(kGpu.size()),
                                 bytes_text(peak), amount_text(memory.needed_most)};
    if (!adds) {
      row.insert(row.end(), {percent_text(peak, capacity(device)),
                             bar(peak, capacity(device), kBarCells / 2, page)});
    }
    row.insert(row.end(),
               {bytes_text(stats.requested_bytes.all.peak), count_text(saved.allocations),
                percent_text(saved.hits, saved.allocations), count_text(stats.num_ooms)});
    table.add(std::move(row));
  }
  Document text;
  text.gap();
  text.heading(std::to_string(devices.size()) + " GPUs" + std::string(note));
  if (!table.empty()) text.drawing(table.text(page));
  const std::string numbers = numbers_of_gpus(whole);
  if (!numbers.empty()) text.paragraph("--device: " + numbers, kWhereAllIs);
  if (idle != 0) text.paragraph("of the reserved memory, " + idle_text(whole, idle));
  text.append(others);
  return text;
}

// "34 allocations, peak 183 MiB requested (186 MiB allocated, 190 MiB reserved), out of memory 2
// times".
std::string plain_line(const Report& report, const DeviceReport& device) {
  const DeviceStatistics& stats = device.statistics;
  const std::string line = counted(positive(stats.allocation.all.allocated), "allocation") +
                           ", peak " + bytes_text(stats.requested_bytes.all.peak) + " requested (" +
                           allocated_words(device) +
                           reserved_words(reserved_memory(report, device)) + ")";
  const std::uint64_t refused = positive(stats.num_ooms);
  return refused == 0 ? line : line + ", out of memory " + times_text(refused);
}

}  // namespace

Document devices_text(const Report& report, const Page& page) {
  const std::vector<UsedDevice> used = used_devices(report);
  Document text;
  if (used.empty()) {
    if (report.chosen) return text;
    text.gap();
    text.line("  No device memory was allocated.");
    return text;
  }
  const bool is_choice = report.chosen && report.chosen->by_rows;
  const std::string_view note = is_choice ? ", all of it, regardless of the filter" : "";
  if (used.size() > kDevicesInFull) return devices_in_brief(report, used, note, page);
  for (const UsedDevice& device : used) add_in_full(text, report, device, note, page);
  return text;
}

std::string devices_line(const Report& report) {
  std::string result;
  for (const UsedDevice& device : used_devices(report)) {
    std::string held;
    if (device.report != nullptr && device.report->used) held = plain_line(report, *device.report);
    for (const KindFacts& kind : device.others) {
      held += (held.empty() ? "" : ", ") +
              counted(kind.allocations, kind_text(kind.kind) + " allocation") + ", peak " +
              amount_text(kind.peak_bytes) + " requested";
    }
    // By the report alone, at once: with a trace beside it other listings tell it exactly.
    if (const MergedProcess whole = merged_processes(report).front();
        has_several_kinds(whole, device.index)) {
      held += ", all kinds together: peak " + bounds_text(peak_bounds(whole, device.index)) +
              " requested";
    }
    result += (result.empty() ? "" : "; ") + gpu_name(report, device.index) + ": " + held;
  }
  return result;
}

std::string pinned_text(const Report& report) {
  const Savings saved = pinned_savings(report);
  if (saved.hits == 0) return "";
  const Duration driver = pinned_driver_time(report);
  std::string result = "pinned: " + count_text(saved.hits) + " of " +
                       counted(saved.allocations, "allocation") + " from the cache";
  if (driver.count == 0) return result;
  result += "; " + counted(driver.count, "driver call") + " took " + duration_text(driver.total_ns);
  const std::string time = saved_text(saved);
  return time.empty() ? result : result + "; the cache saved " + time;
}

}  // namespace vramscope
