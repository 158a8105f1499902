// The statistics of a report under PyTorch's names.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/stats_text.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/device_text.h"
#include "reporter/view/text/idle_text.h"
#include "reporter/view/text/refusals_text.h"

namespace vramscope {
namespace {

std::vector<StatsRow> rows(const FlatStats& stats, std::optional<std::uint64_t> device,
                           const StatsOf& of) {
  std::vector<StatsRow> rows;
  for (const auto& [name, value] : stats) {
    rows.push_back({.device = device, .name = name, .value = static_cast<std::int64_t>(value)});
  }
  arrange(rows, stats_columns(), {of.most, of.sort});
  if (of.most != 0 && rows.size() > of.most) rows.resize(of.most);
  return rows;
}

FlatStats first(const FlatStats& stats, const StatsOf& of) {
  FlatStats result;
  for (const StatsRow& row : rows(stats, std::nullopt, of))
    result.emplace_back(row.name, row.value);
  return result;
}

void dictionary(JsonText& json, const FlatStats& stats) {
  json.object();
  for (const auto& [key, value] : stats) json.field(key, value);
  json.end();
}

// Without what a snapshot without history cannot tell: peaks, sums and refusals.
FlatStats stats_told(const Report& report, const DeviceReport& device) {
  FlatStats stats = memory_stats(device);
  if (tells_frees(report)) return stats;
  std::erase_if(stats, [](const auto& row) {
    return !row.first.ends_with(".current") && row.first != "max_split_size";
  });
  return stats;
}

constexpr const char* kWords =
    "allocated: in blocks in use, rounded up from what was requested. reserved: taken from the "
    "driver, free parts included. active: allocated, or freed but not yet reusable. inactive "
    "split: free beside blocks in use, so it cannot be released to the driver. TOTAL: over the "
    "whole run.";

// A file of another tool has that tool's figures.
std::string words_for_keys(const Report& report) {
  const std::string whose =
      trigger_of(report) == Trigger::imported
          ? "All counters under PyTorch's names. "
          : "Vramscope's own counters, with PyTorch's names and meanings, but for Vramscope's "
            "allocator: a segment of PyTorch's cache is one block here. ";
  return whose + "small_pool counts requests up to 1 MiB, large_pool the others:";
}

// The driver serves them, so no counter of the allocator's has them.
std::string uncounted_text(const Report& report, std::uint16_t device) {
  std::string others;
  for (const KindFacts& kind : report.kinds) {
    const bool is_other = takes_device_memory(kind.kind) && kind.kind != Kind::device;
    if (!is_other || kind.device != device || kind.peak_bytes == 0) continue;
    others += (others.empty() ? "" : ", ") + kind_text(kind.kind) + " " +
              amount_text(kind.peak_bytes) + " at its peak";
  }
  return others.empty() ? "" : "not counted above, as in PyTorch: " + others;
}

// What of a device one looks for first, of all pools: as torch.cuda.memory_summary has it.
void add_summary(Document& text, const Report& report, const DeviceReport& device,
                 const FlatStats& stats) {
  using enum Table::Align;
  // Nothing where it is not known.
  const auto value_of = [&](const std::string& key) -> std::optional<std::uint64_t> {
    const auto row =
        std::find_if(stats.begin(), stats.end(), [&](const auto& one) { return one.first == key; });
    if (row == stats.end()) return {};
    return static_cast<std::uint64_t>(row->second);
  };
  const auto text_of = [](const std::string& key, std::optional<std::uint64_t> value) {
    if (!value) return std::string("not known");
    const bool is_bytes = key.ends_with("_bytes");
    return is_bytes ? amount_text(*value) : count_text(*value);
  };
  Table table(
      {{"ALL POOLS", left}, {"NOW", right}, {"PEAK", right}, {"TOTAL", right}, {"FREED", right}});
  for (const auto& [name, key] : std::initializer_list<std::pair<const char*, std::string>>{
           {"allocated", "allocated_bytes"},
           {"reserved", "reserved_bytes"},
           {"requested", "requested_bytes"},
           {"active", "active_bytes"},
           {"inactive split", "inactive_split_bytes"},
           {"blocks", "allocation"},
           {"segments", "segment"}}) {
    std::vector<std::string> cells{name};
    for (const char* const of : {".all.current", ".all.peak", ".all.allocated", ".all.freed"}) {
      cells.push_back(text_of(key, value_of(key + of)));
    }
    table.add(std::move(cells));
  }
  const std::int64_t retried = device.statistics.num_alloc_retries;
  const std::string retries = retried < 0    ? ", how often was asked again is not known"
                              : retried == 0 ? ""
                                             : "; " + retries_text(report, device);
  const std::optional<std::uint64_t> refused = value_of("num_ooms");
  text.table(std::move(table));
  const std::string times =
      refused.value_or(0) == 0 ? "never out of memory" : "out of memory " + times_text(*refused);
  text.paragraph(refused ? times + retries : "how often memory ran out is not known");
  text.paragraph(needed_text(report, reserved_memory(report, device)));
  text.paragraph(uncounted_text(report, device.facts.index));
  text.gap();
}

// Values end in one column; bytes also as a person reads them, where the page has room for that.
std::string lines(const FlatStats& stats, const Page& page) {
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const auto& [key, value] : stats) {
    key_width = std::max(key_width, key.size());
    value_width = std::max(value_width, std::to_string(value).size());
  }
  if (stats.empty()) return "  never used\n";
  std::string result;
  constexpr std::size_t kReadable = 10;  // columns of "  1.00 TiB"
  std::size_t end = 2 + key_width + 2 + value_width;
  const bool has_room = !page.cuts || end + kReadable <= page.width;
  if (page.cuts) end = std::min(end, page.width);
  for (const auto& [key, value] : stats) {
    const std::string number = std::to_string(value);
    result += "  " + key;
    const std::size_t used = 2 + key.size() + number.size();
    result += used < end ? std::string(end - used, ' ') + number
                         : "\n" + std::string(end - std::min(end, number.size()), ' ') + number;
    const bool is_time = key.find("_time.") != std::string::npos && !key.ends_with(".count");
    if (has_room && key.find("_bytes") != std::string::npos && value >= 1024) {
      result += "  " + coloured(bytes_text(value), Colour::dim, page);
    } else if (has_room && is_time) {
      result += "  " + coloured("us", Colour::dim, page);
    }
    result += "\n";
  }
  return result;
}

std::string title_of(const Report& report, const DeviceReport& device) {
  return gpu_name(report, device.facts.index) + "  " + device.facts.name + "  memory_stats" +
         (is_of_several(report) ? ", summed over all processes" : "");
}

struct Keys {
  std::string title;
  std::string lines;
  std::string below = {};  // a remark
};

// A dictionary below the other.
void add_keys(Document& text, const std::vector<Keys>& all, bool has_first_title) {
  for (const Keys& keys : all) {
    const bool is_first = &keys == &all.front();
    if (!is_first) text.gap();
    if (!is_first || has_first_title) text.heading(keys.title);
    text.drawing(keys.lines);
    text.paragraph(keys.below);
  }
}

}  // namespace

Document stats_text(const Report& report, const StatsOf& of, const Page& page) {
  Document summaries;
  std::vector<Keys> keys;
  std::size_t summarized = 0;  // devices, whose keys come first
  for (const DeviceReport& device : report.devices) {
    if (of.device && device.facts.index != *of.device) continue;
    const std::string title = title_of(report, device);
    const FlatStats stats = stats_told(report, device);
    const bool is_whole = of.sort.empty() && of.most == 0 && !stats.empty();
    if (is_whole) {
      summaries.heading(title);
      add_summary(summaries, report, device, stats);
    }
    const auto at =
        is_whole ? keys.begin() + static_cast<std::ptrdiff_t>(summarized++) : keys.end();
    keys.insert(at, {title, lines(first(stats, of), page)});
  }
  if (!of.device) {
    keys.push_back({"host_memory_stats", lines(first(memory_stats(report.host), of), page),
                    pinned_text(report)});
  }
  Document text;
  if (summarized != 0) summaries.paragraph(kWords);
  // On a screen, from which what is above is scrolled away, what one looks for first comes last.
  if (page.lines != 0 && summarized != 0) {
    add_keys(text, keys, true);
    text.append_apart(summaries);
    return text;
  }
  text.append(summaries);
  if (summarized != 0) {
    text.gap();
    text.paragraph(words_for_keys(report));
  }
  // Below the only summary its keys follow; of several devices the summaries stand together.
  add_keys(text, keys, summarized != 1);
  return text;
}

namespace {

// The keys of one dictionary, or of one a device.
Column<Report> keys_field(const char* name, const char* doc, const char* type,
                          std::function<void(JsonText&, const Report&)> write) {
  return {{.name = name, .doc = doc, .type = type, .unit = "by key"}, std::move(write)};
}

}  // namespace

Columns<Report> stats_fields(const StatsOf& of) {
  const auto devices = [of](JsonText& json, const Report& report) {
    json.object();
    for (const DeviceReport& device : report.devices) {
      json.key(std::to_string(device.facts.index));
      dictionary(json, first(stats_told(report, device), of));
    }
    json.end();
  };
  const auto host = [of](JsonText& json, const Report& report) {
    dictionary(json, first(memory_stats(report.host), of));
  };
  return {keys_field("devices",
                     "Vramscope's counters for each GPU, under the names of "
                     "torch.cuda.memory_stats; the key is the GPU's number",
                     "numbers_by_name", devices),
          keys_field("host", "the same under the names of torch.cuda.host_memory_stats", "numbers",
                     host)};
}

std::optional<std::string> stats_json(const Report& report, const StatsOf& of) {
  if (!of.device) return json_of(report, stats_fields(of));
  const DeviceReport* device = find_device(report, *of.device);
  if (device == nullptr) return std::nullopt;
  JsonText json;
  dictionary(json, first(stats_told(report, *device), of));
  return json.text();
}

Columns<StatsRow> stats_columns() {
  return {{"device", "", &StatsRow::device},
          {"name", "", &StatsRow::name},
          {"value", "", &StatsRow::value}};
}

bool add_stats_csv(CsvText& csv, const Report& report, const StatsOf& of) {
  if (of.device && find_device(report, *of.device) == nullptr) return false;
  csv.titles(names_of(stats_columns()));
  for (const DeviceReport& device : report.devices) {
    if (of.device && device.facts.index != *of.device) continue;
    add_rows(csv, rows(stats_told(report, device), device.facts.index, of), stats_columns(),
             of.most);
  }
  if (of.device) return true;
  add_rows(csv, rows(memory_stats(report.host), std::nullopt, of), stats_columns(), of.most);
  return true;
}

}  // namespace vramscope
