// The table of settings under which a trace was replayed.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/replay_text.h"

#include <algorithm>

#include "reporter/report/memory_name.h"
#include "reporter/report/memory_stats.h"
#include "reporter/view/listing/json_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kSettingsRoom = 24;  // the other columns leave it at least

constexpr std::string_view kCosts[] = {"h200", "trace", "given"};

std::string_view policy_word(const TrialRow& row) {
  return kTrialPolicies[static_cast<std::size_t>(row.policy)];
}

// Reserved bytes that no request had at the peak.
std::uint64_t unused_bytes(const TrialDevice& device) {
  return device.peak_reserved_bytes -
         std::min(device.peak_reserved_bytes, device.requested_at_peak_bytes);
}

std::string costs_sentence(const CallCosts& costs) {
  switch (costs.from) {
    case CallCosts::From::h200:
      return "IN CALLS: the time that the driver calls would take on an H200 (median times by "
             "size).";
    case CallCosts::From::trace:
      return "IN CALLS: the time that the driver calls would take if each took the mean of this "
             "trace, " +
             duration_text(costs.allocate_ns) + " to allocate and " + duration_text(costs.free_ns) +
             " to free.";
    case CallCosts::From::given:
      return "IN CALLS: the time that the driver calls would take at " +
             duration_text(costs.allocate_ns) + " to allocate and " + duration_text(costs.free_ns) +
             " to free.";
  }
  return "";
}

std::string refusal_text(const TrialRefusal& refusal) {
  const std::string what = refusal.is_use
                               ? " that the driver and others use"
                               : " of " + memory_name(refusal.place.kind, refusal.place.device);
  return amount_text(refusal.bytes) + what + " at " + duration_text(refusal.at_ns);
}

// Figures of the replay are null where the trace has no device memory.
template <class Value>
auto of_device(Value TrialDevice::*member) {
  return [member](const ReplayLine& line) {
    return line.device == nullptr ? std::nullopt : std::optional(line.device->*member);
  };
}

Columns<ReplayLine> device_columns() {
  using Line = ReplayLine;
  const auto unused = [](const Line& line) {
    return line.device == nullptr ? std::nullopt : std::optional(unused_bytes(*line.device));
  };
  const auto share = [](const Line& line) {
    if (line.device == nullptr) return std::string("-");
    return percent_text(unused_bytes(*line.device), line.device->peak_reserved_bytes);
  };
  return {
      {"device", "number of the GPU; `null`: the trace has no device memory",
       of_device(&TrialDevice::device), Titled("GPU")},
      {"peak_reserved_bytes", "most that the driver handed out of the GPU, of every kind of memory",
       of_device(&TrialDevice::peak_reserved_bytes), Titled("RESERVED")},
      {"peak_requested_bytes", "most that the program asked for",
       of_device(&TrialDevice::peak_requested_bytes), Titled("REQUESTED")},
      {"unused_at_peak_bytes", "of `peak_reserved_bytes`, no request had them then", unused},
      {"peak_used_bytes",
       "most that was used in whole pages of the driver, with contexts, code and what others "
       "used in the recording",
       of_device(&TrialDevice::peak_used_bytes), Titled("USED", 3)},
      {{"UNUSED", Table::Align::right, 2},
       share,
       Legend("UNUSED: the share of RESERVED, at its peak, that no request was using.")}};
}

Columns<ReplayLine> run_columns(const CallCosts& costs) {
  using Line = ReplayLine;
  const auto of_result = [](auto member) {
    return [member](const Line& line) { return line.row->result.*member; };
  };
  const auto fits = [](const Line& line) { return line.row->fits(); };
  const auto of_refusal = [](auto member) {
    return [member](const Line& line) {
      return line.row->refusal ? std::optional((*line.row->refusal).*member) : std::nullopt;
    };
  };
  return {{"driver_calls", "calls of the driver for device and pinned memory",
           of_result(&TrialResult::driver_calls), Titled("CALLS")},
          {"driver_ns", "time that they would take", of_result(&TrialResult::driver_ns),
           Titled("IN CALLS", 1), Legend(costs_sentence(costs))},
          {"fits", "no request is refused that the recording served", fits, Titled("FITS"),
           std::function<std::string(const Line&)>(
               [](const Line& line) { return line.row->fits() ? "yes" : "no"; })},
          {"refused_bytes", "of the first request that is refused; `null`: it fits",
           of_refusal(&TrialRefusal::bytes)},
          {"refused_ns", "when that was, after time 0", of_refusal(&TrialRefusal::at_ns)},
          {"refusals", "requests refused in the recording that are refused here too",
           of_result(&TrialResult::refusals)},
          {"served_refused", "requests refused in the recording that are served here",
           of_result(&TrialResult::served_refused)}};
}

}  // namespace

std::string settings_text(const TrialRow& row) {
  if (row.mode == Mode::observe) return "no cache";
  std::string text(policy_word(row));
  if (row.mode == Mode::dedicated) text = "mode dedicated";
  if (!row.alloc_conf.empty()) text += ", " + row.alloc_conf;
  return text;
}

std::string marked_settings_text(const TrialRow& row) {
  TrialRow spaced = row;
  spaced.alloc_conf.clear();
  for (const char c : row.alloc_conf)
    spaced.alloc_conf += c == ',' ? std::string(", ") : std::string(1, c);
  return settings_text(spaced) + (row.is_recorded ? ", as recorded" : "");
}

std::string typed_settings(const TrialRow& row) {
  if (row.mode != Mode::cache) {
    return row.mode == Mode::observe ? "--mode observe" : "--mode dedicated";
  }
  std::string text = "--policy " + std::string(policy_word(row));
  if (!row.alloc_conf.empty()) text += " --alloc-conf " + shell_word(row.alloc_conf);
  return text;
}

std::string gaps_text(const std::string& begin, const TrialGaps& gaps) {
  std::vector<std::string> parts;
  if (gaps.begins_late) parts.emplace_back("it begins in the middle of the run");
  if (gaps.earlier_allocations != 0) {
    parts.push_back("the order of " + counted(gaps.earlier_allocations, "allocation") +
                    " before it is not known");
  }
  if (gaps.damaged_chunks != 0) {
    parts.push_back("it lacks " + counted(gaps.damaged_chunks, "damaged chunk"));
  }
  if (gaps.is_cut_off) parts.emplace_back("it ends before the run does");
  if (gaps.lost_events != 0) parts.push_back(counted(gaps.lost_events, "event") + " are missing");
  if (gaps.has_captures) parts.emplace_back("streams were captured, whose graphs kept memory");
  if (gaps.has_exports) parts.emplace_back("memory was exported");
  if (gaps.has_pools) parts.emplace_back("pools of the driver kept memory that was freed");
  return parts.empty() ? "" : begin + enumerated(parts) + ".";
}

std::vector<ReplayLine> replay_lines(const Replayed& replayed) {
  std::vector<ReplayLine> lines;
  for (const ReplayRow& row : replayed.answer.rows) {
    for (const TrialDevice& device : row.result.devices) lines.push_back({&row, &device});
    if (row.result.devices.empty()) lines.push_back({&row, nullptr});
  }
  return lines;
}

Columns<ReplayLine> replay_columns(const CallCosts& costs) {
  Columns<ReplayLine> columns = settings_columns<ReplayLine>(
      [](const ReplayLine& line) -> const TrialRow& { return line.row->row; });
  append(columns, device_columns());
  append(columns, run_columns(costs));
  columns.push_back(
      {{"SETTINGS"}, [](const ReplayLine& line) { return marked_settings_text(line.row->row); }});
  return columns;
}

namespace {

std::string capacity_text(const Replayed& replayed) {
  std::string text;
  const auto& rows = replayed.answer.rows;
  for (const std::uint16_t device : replayed.trace.devices) {
    if (rows.empty()) break;
    const TrialSettings& settings = rows.front().row.settings;
    const std::uint64_t limit = settings.memory_limit[device];
    const std::uint64_t bytes = settings.capacity[device];
    text += (text.empty() ? "" : ", ") + memory_name(Kind::device, device) + " with ";
    text += bytes == kMostCapacity ? "unknown size" : amount_text(bytes);
    if (limit != 0) text += " with a limit of " + amount_text(limit);
  }
  return text;
}

std::string head_text(const Replayed& replayed) {
  const std::string devices = capacity_text(replayed);
  return counted(replayed.trace.requests, "allocation") + " of " + replayed.file +
         ", replayed under " + counted(replayed.answer.rows.size(), "setting") +
         (devices.empty() ? "" : ", on " + devices);
}

// How far the recording's own settings give what was recorded.
std::string as_recorded_text(const Replayed& replayed) {
  const TrialGaps& gaps = replayed.trace.gaps;
  std::string text;
  if (replayed.answer.is_as_recorded) {
    text = *replayed.answer.is_as_recorded
               ? "Under the recording's settings, the replay created the same segments as the "
                 "recording, in the same order."
               : "Under the recording's settings, the replay created other segments than the "
                 "recording.";
  }
  const std::string not_exact = gaps_text("The replay of this trace cannot be exact: ", gaps);
  return text + (text.empty() || not_exact.empty() ? "" : " ") + not_exact;
}

std::string known_settings_text(const Replayed& replayed) {
  if (replayed.trace.recorded.are_known) return "";
  return "The settings of the recording are not known: " +
         settings_text(replayed.answer.rows.front().row) + " is assumed.";
}

// Of the refused: what was refused first.
std::string refused_text(const Replayed& replayed) {
  std::string text;
  for (const ReplayRow& row : replayed.answer.rows) {
    if (!row.refusal) continue;
    text += (text.empty() ? "Refused first: " : "; ") + settings_text(row.row) + ": " +
            refusal_text(*row.refusal);
  }
  return text.empty() ? "" : text + ".";
}

}  // namespace

Document replay_text(const Replayed& replayed, const Page& page, const RowChoice& choice) {
  Columns<ReplayLine> columns = replay_columns(replayed.costs);
  std::erase_if(columns, [&](const Column<ReplayLine>& column) {
    return column.name == "device" && replayed.trace.devices.size() < 2;
  });
  std::vector<ReplayLine> lines = replay_lines(replayed);
  arrange(lines, columns, choice);
  Table table = table_of(columns, lines, page, choice.most);
  table.keep_room(kSettingsRoom);
  table.place_last(Table::Last::wrapped);
  Document text;
  text.title(head_text(replayed));
  text.gap();
  const std::string legend = legend_of(columns, table.titles(page));
  text.table(std::move(table), and_more(lines, choice.most, "setting"));
  text.gap();
  text.paragraph("RESERVED, REQUESTED: at their peaks." + legend);
  text.paragraph(refused_text(replayed));
  text.paragraph(known_settings_text(replayed));
  text.paragraph(as_recorded_text(replayed));
  return text;
}

namespace {

void add_statistics(JsonText& json, const auto& statistics) {
  json.object();
  each_counter(statistics,
               [&](const std::string& key, std::int64_t value) { json.field(key, value); });
  json.end();
}

Column<ReplayLine> memory_stats_field() {
  return {{.name = "memory_stats",
           .doc = "the allocator's counters of the GPU at the end, under PyTorch's names; none "
                  "where it knows no such GPU",
           .type = "numbers",
           .unit = "by key"},
          [](JsonText& json, const ReplayLine& line) {
            if (line.device == nullptr || !line.device->is_counted) {
              json.object().end();
            } else {
              add_statistics(json, line.device->statistics);
            }
          }};
}
Column<ReplayLine> host_stats_field() {
  return {{.name = "host_memory_stats",
           .doc = "the same of pinned and registered memory",
           .type = "numbers",
           .unit = "by key"},
          [](JsonText& json, const ReplayLine& line) {
            line.row->result.host ? add_statistics(json, *line.row->result.host)
                                  : (void)json.object().end();
          }};
}

}  // namespace

Columns<Replayed> replay_fields(const RowChoice& choice) {
  using All = Replayed;
  Columns<ReplayLine> columns = replay_columns();
  columns.push_back(memory_stats_field());
  columns.push_back(host_stats_field());
  const auto of_gaps = [](auto member) {
    return [member](const All& all) { return all.trace.gaps.*member; };
  };
  return {
      {"file", "path of the trace", &All::file},
      {"allocations", "in it", [](const All& all) { return all.trace.requests; }},
      {"as_recorded",
       "under its own settings, the replay created the same segments as the recording; `null`: the "
       "trace has none, or these settings were not replayed",
       [](const All& all) { return all.answer.is_as_recorded; }},
      {"settings_known", "the trace names the settings of the recording",
       [](const All& all) { return all.trace.recorded.are_known; }},
      {"begins_late", "memory was freed whose allocation the trace does not have",
       of_gaps(&TrialGaps::begins_late)},
      {"earlier_allocations",
       "of another tool's file: allocations that were made before it, and are played first",
       of_gaps(&TrialGaps::earlier_allocations)},
      {"damaged_chunks", "that were left out (`--partial`)", of_gaps(&TrialGaps::damaged_chunks)},
      {"cut_off", "the trace ends before the run does", of_gaps(&TrialGaps::is_cut_off)},
      {"lost", "events that are missing", of_gaps(&TrialGaps::lost_events)},
      {"several_threads",
       "several threads freed memory, between two allocations perhaps in another order",
       of_gaps(&TrialGaps::has_several_threads)},
      {"captures", "streams were captured", of_gaps(&TrialGaps::has_captures)},
      {"exports", "memory was exported", of_gaps(&TrialGaps::has_exports)},
      {"pools", "pools of the driver kept memory that was freed", of_gaps(&TrialGaps::has_pools)},
      {"costs", "whose calls `driver_ns` is made of: an H200's, the trace's, given ones",
       [](const All& all) { return all.costs.from; }, OneOf(kCosts)},
      {"rows", "settings in the order of the text, each on each GPU", columns,
       [choice, columns](const All& all) {
         return chosen_rows(replay_lines(all), columns, choice);
       }}};
}

}  // namespace vramscope
