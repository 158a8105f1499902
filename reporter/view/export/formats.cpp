// The formats that reports and traces are written in: THE list.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/formats.h"

#include <algorithm>
#include <array>

namespace vramscope {

// What was not there when this was built.
#ifndef VRAMSCOPE_HAS_SQLITE
std::string write_sqlite(const Exported&, Output&) {
  return "this build is without SQLite (libsqlite3-dev was not installed)";
}
#endif
#ifndef VRAMSCOPE_HAS_PROTOBUF
constexpr const char* kNoProtobuf =
    "this build is without protobuf (libprotobuf-dev and protobuf-compiler were not installed)";
std::string write_pprof(const Exported&, Output&) { return kNoProtobuf; }
std::string write_perfetto(const Exported&, Output&) { return kNoProtobuf; }
#endif

namespace {

using enum ExportFormat::Needs;

constexpr auto kFormats = std::to_array<ExportFormat>({
    {"folded", ".folded", "flamegraph.pl, speedscope, Perfetto", either, write_folded},
    {"speedscope", ".speedscope.json", "speedscope", either, write_speedscope},
    {"memory_viz", ".pickle", "PyTorch's memory_viz page", either, write_memory_viz},
    {"memory_viz_json", ".snapshot.json", "programs that want it", either, write_memory_viz_json},
    {"chrome", ".chrome.json", "chrome://tracing, Perfetto", either, write_chrome},
    {"massif", ".massif", "ms_print, massif-visualizer", either, write_massif},
    {"dhat", ".dhat.json", "valgrind's dh_view", either, write_dhat},
    {"heaptrack", ".heaptrack", "heaptrack_gui, heaptrack_print", trace, write_heaptrack},
    {"rmm", ".rmm.csv", "RMM's replay benchmark", trace, write_rmm},
    {"pprof", ".pb", "pprof, Perfetto", either, write_pprof},
    {"perfetto", ".perfetto-trace", "Perfetto", either, write_perfetto},
    {"sqlite", ".sqlite", "SQLite", either, write_sqlite},
    {"openmetrics", ".prom", "Prometheus and its text file collector", either, write_openmetrics},
});

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

const ExportFormat* export_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [&](const ExportFormat& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace vramscope
