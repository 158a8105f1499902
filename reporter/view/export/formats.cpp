// The formats that reports and traces are written in: THE list.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/formats.h"

#include <algorithm>
#include <array>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/export/build_parts.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// What was not there when this was built.
#ifndef VRAMSCOPE_HAS_SQLITE
std::string write_sqlite(const Exported&, Output&) {
  return "this build is without SQLite: " + std::string(why_no_sqlite());
}
#endif
#ifndef VRAMSCOPE_HAS_PROTOBUF
std::string write_pprof(const Exported&, Output&) {
  return "this build is without protobuf: " + std::string(why_no_protobuf());
}
std::string pprof_profile(const Exported&) { return ""; }
std::string write_perfetto(const Exported& exported, Output& output) {
  return write_pprof(exported, output);
}
#endif

namespace {

using enum ExportFormat::Needs;

constexpr std::string_view kStacks = "call stacks";
constexpr std::string_view kOtherMoments = "call stacks at other times than the peak";
constexpr std::string_view kHistory =
    "the history of allocations and frees (record it with run --trace)";
constexpr std::string_view kSingle =
    "single allocations with their stacks (a trace has them: run --trace)";

constexpr auto kFormats = std::to_array<ExportFormat>({
    {.name = "folded",
     .suffix = ".folded",
     .opens_in = "flamegraph.pl, speedscope, Perfetto",
     .how = "flamegraph.pl FILE >FILE.svg",
     .write = write_folded,
     .is_of_stacks = true},
    {.name = "speedscope",
     .suffix = ".speedscope.json",
     .opens_in = "speedscope",
     .how = "speedscope FILE, or drop it on https://www.speedscope.app",
     .write = write_speedscope,
     .is_of_stacks = true},
    {.name = "memory_viz",
     .suffix = ".pickle",
     .opens_in = "PyTorch's memory_viz page",
     .how = "drop it on https://pytorch.org/memory_viz",
     .write = write_memory_viz,
     .why_not = no_segments,
     .shows = is_in_memory_viz,
     .lost_of_report = kHistory},
    {.name = "memory_viz_json",
     .suffix = ".snapshot.json",
     .opens_in = "programs that read this JSON",
     .how = "as torch.cuda.memory._snapshot() gives it",
     .write = write_memory_viz_json,
     .most_bytes = most_bytes_of_memory_viz_json,
     .why_not = no_segments,
     .shows = is_in_memory_viz,
     .lost_of_report = kHistory},
    {.name = "chrome",
     .suffix = ".chrome.json",
     .opens_in = "chrome://tracing, Perfetto",
     .how = "load it in chrome://tracing or https://ui.perfetto.dev",
     .write = write_chrome,
     .lost_of_report = kSingle},
    {.name = "massif",
     .suffix = ".massif",
     .opens_in = "ms_print, massif-visualizer",
     .how = "ms_print FILE",
     .write = write_massif,
     .shows = is_in_massif,
     .lost_of_report = kOtherMoments,
     .lost_of_trace = kOtherMoments},
    {.name = "dhat",
     .suffix = ".dhat.json",
     .opens_in = "valgrind's dh_view",
     .how = "load it in valgrind's dh_view.html",
     .write = write_dhat,
     .is_of_stacks = true},
    {.name = "heaptrack",
     .suffix = ".heaptrack",
     .opens_in = "heaptrack_gui, heaptrack_print",
     .how = "heaptrack_gui FILE",
     .needs = trace,
     .write = write_heaptrack,
     .is_of_stacks = true},
    {.name = "rmm",
     .suffix = ".rmm.csv",
     .opens_in = "RMM's replay benchmark",
     .how = "RMM's REPLAY_BENCH -f FILE",
     .needs = trace,
     .write = write_rmm,
     .shows = is_in_rmm,
     .lost_of_trace = "call stacks, streams",
     .is_of_stacks = true},
    {.name = "pprof",
     .suffix = ".pb",
     .opens_in = "pprof, Perfetto",
     .how = "go tool pprof -http=: FILE",
     .write = write_pprof,
     .why_left_out = why_no_protobuf,
     .is_of_stacks = true},
    {.name = "perfetto",
     .suffix = ".perfetto-trace",
     .opens_in = "Perfetto",
     .how = "open it in https://ui.perfetto.dev",
     .write = write_perfetto,
     .why_left_out = why_no_protobuf,
     .lost_of_report = kSingle},
    {.name = "sqlite",
     .suffix = ".sqlite",
     .opens_in = "SQLite",
     .how = "sqlite3 FILE .schema",
     .write = write_sqlite,
     .why_left_out = why_no_sqlite},
    {.name = "parquet",
     .suffix = "",
     .opens_in = "DuckDB, Spark, ClickHouse, pandas: a folder of tables of many runs",
     .how = "duckdb -init views.sql",
     .why_left_out = why_no_parquet,
     .is_folder = true},
    {.name = "csv",
     .suffix = "",
     .opens_in = "DuckDB and what reads CSV: the same tables, compressed by zstd",
     .how = "duckdb -f to_parquet.sql",
     .is_folder = true},
    {.name = "openmetrics",
     .suffix = ".prom",
     .opens_in = "Prometheus and its text file collector",
     .how = "put it into the folder of node_exporter's --collector.textfile.directory",
     .write = write_openmetrics,
     .lost_of_report = kStacks,
     .lost_of_trace = kStacks},
});

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

const ExportFormat* export_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [&](const ExportFormat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

std::string lost_in(const Exported& exported, const ExportFormat& format) {
  std::vector<std::string> kinds;
  for (const KindFacts& kind : exported.report().kinds) {
    if (!holds_memory(kind.kind) || kind.peak_bytes == 0) continue;
    if (format.shows == nullptr || format.shows(exported, kind)) continue;
    kinds.push_back(memory_name(exported.report(), kind.kind, kind.device));
  }
  std::string text = enumerated(kinds);
  const auto add = [&](std::string_view more) {
    text += (text.empty() || more.empty() ? "" : "; ") + std::string(more);
  };
  add(exported.names() == nullptr ? format.lost_of_report : format.lost_of_trace);
  const bool tells_sums = format.write == write_openmetrics;  // of each figure
  const bool has_peaks = format.write != write_folded || exported.cost() == Cost::peak;
  if (is_of_several(exported.report()) && has_peaks && !tells_sums) {
    add("that its peaks are sums over " + count_text(exported.report().processes.size()) +
        " processes, each at its own time");
  }
  return text;
}

std::string nothing_in(const Exported& exported, const ExportFormat& format) {
  if (!format.is_of_stacks) return "";
  const std::vector<LeakUsage>& all = exported.usage();
  const bool is_one_cost = format.write == write_folded;
  const auto counts = [&](const LeakUsage& usage) {
    if (is_one_cost) return value_of(usage, exported.cost()) != 0;
    return usage.totals.total_count != 0 || usage.totals.peak_bytes != 0;
  };
  if (std::any_of(all.begin(), all.end(), counts)) return "";
  const std::string cost =
      is_one_cost && !all.empty() ? " of --cost " + std::string(name_of(exported.cost())) : "";
  std::uint64_t kept = 0;
  for (const LeakUsage& usage : all) kept += kept_bytes(usage);
  const bool is_all_kept = is_one_cost && exported.cost() == Cost::leaked && kept != 0;
  return std::string(format.name) + " shows allocations" + cost + ", and the report has none" +
         (is_all_kept
              ? "; --cost kept shows " + amount_text(kept) + " that caches and libraries keep"
              : "");
}

}  // namespace vramscope
