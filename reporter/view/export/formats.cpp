// The formats that reports and traces are written in: THE list.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/formats.h"

#include <algorithm>
#include <array>

#include "reporter/view/export/build_parts.h"

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
std::string write_perfetto(const Exported& exported, Output& output) {
  return write_pprof(exported, output);
}
#endif

namespace {

using enum ExportFormat::Needs;

constexpr auto kFormats = std::to_array<ExportFormat>({
    {"folded", ".folded", "flamegraph.pl, speedscope, Perfetto", "flamegraph.pl FILE >FILE.svg",
     either, write_folded},
    {"speedscope", ".speedscope.json", "speedscope",
     "speedscope FILE, or drop it on https://www.speedscope.app", either, write_speedscope},
    {"memory_viz", ".pickle", "PyTorch's memory_viz page",
     "drop it on https://pytorch.org/memory_viz", either, write_memory_viz, nullptr, no_segments},
    {"memory_viz_json", ".snapshot.json", "programs that want it",
     "as torch.cuda.memory._snapshot() gives it", either, write_memory_viz_json,
     most_bytes_of_memory_viz_json, no_segments},
    {"chrome", ".chrome.json", "chrome://tracing, Perfetto",
     "load it in chrome://tracing or https://ui.perfetto.dev", either, write_chrome},
    {"massif", ".massif", "ms_print, massif-visualizer", "ms_print FILE", either, write_massif},
    {"dhat", ".dhat.json", "valgrind's dh_view", "load it in valgrind's dh_view.html", either,
     write_dhat},
    {"heaptrack", ".heaptrack", "heaptrack_gui, heaptrack_print", "heaptrack_gui FILE", trace,
     write_heaptrack},
    {"rmm", ".rmm.csv", "RMM's replay benchmark", "RMM's REPLAY_BENCH -f FILE", trace, write_rmm},
    {"pprof", ".pb", "pprof, Perfetto", "go tool pprof -http=: FILE", either, write_pprof, nullptr,
     nullptr, why_no_protobuf},
    {"perfetto", ".perfetto-trace", "Perfetto", "open it in https://ui.perfetto.dev", either,
     write_perfetto, nullptr, nullptr, why_no_protobuf},
    {"sqlite", ".sqlite", "SQLite", "sqlite3 FILE .schema", either, write_sqlite, nullptr, nullptr,
     why_no_sqlite},
    {"openmetrics", ".prom", "Prometheus and its text file collector",
     "into the folder of node_exporter's --collector.textfile.directory", either,
     write_openmetrics},
});

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

const ExportFormat* export_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [&](const ExportFormat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace vramscope
