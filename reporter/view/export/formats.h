// ExportFormat is a format of other tools to which reports and traces are written, one file each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reporter/view/export/exported.h"
#include "reporter/view/system/output.h"

namespace vramscope {

struct ExportFormat {
  enum class Needs : std::uint8_t { either, trace, report };

  std::string_view name;    // the name for --format
  std::string_view suffix;  // suffix of the format's files
  std::string_view opens_in;
  std::string_view how;  // a command, or what to do in the tool; FILE stands for the file
  Needs needs = Needs::either;
  // Writes the file. Returns "", or one line that says why it could not be written. The output
  // reports its own errors. May throw bad_alloc.
  std::string (*write)(const Exported& exported, Output& output) = nullptr;
  // Returns the most bytes of a file in a format that may become far larger than its source. May
  // throw bad_alloc.
  std::uint64_t (*most_bytes)(const Exported& exported) = nullptr;
  // Returns "", or one line that says why there is nothing to write.
  std::string (*why_not)(const Exported& exported) = nullptr;
  // Returns "", or why this build lacks the format; null: every build has it.
  std::string_view (*why_left_out)() noexcept = nullptr;
  // Returns whether the file contains memory of the kind; null: it contains all kinds.
  bool (*shows)(const Exported& exported, const KindFacts& kind) = nullptr;
  // What else of a report, and of a trace, the format lacks; "": nothing important.
  std::string_view lost_of_report = {};
  std::string_view lost_of_trace = {};
  bool is_of_stacks = false;  // without an allocation the file would be empty
  bool is_folder = false;     // of tables of all files together; `write` is null
};

// Returns what the file lacks: "pinned and registered memory (--kind chooses); history", or "".
[[nodiscard]] std::string lost_in(const Exported& exported, const ExportFormat& format);
// Returns why the file would be empty, or "" if it would not be.
[[nodiscard]] std::string nothing_in(const Exported& exported, const ExportFormat& format);

[[nodiscard]] std::span<const ExportFormat> export_formats();
// Returns null if no format has the name.
[[nodiscard]] const ExportFormat* export_format(std::string_view name);

[[nodiscard]] std::string no_segments(const Exported& exported);
[[nodiscard]] bool is_in_memory_viz(const Exported& exported, const KindFacts& kind);
[[nodiscard]] bool is_in_massif(const Exported& exported, const KindFacts& kind);
[[nodiscard]] bool is_in_rmm(const Exported& exported, const KindFacts& kind);
[[nodiscard]] std::string write_folded(const Exported& exported, Output& output);
[[nodiscard]] std::string write_chrome(const Exported& exported, Output& output);
[[nodiscard]] std::string write_dhat(const Exported& exported, Output& output);
[[nodiscard]] std::string write_heaptrack(const Exported& exported, Output& output);
[[nodiscard]] std::string write_massif(const Exported& exported, Output& output);
[[nodiscard]] std::string write_memory_viz(const Exported& exported, Output& output);
[[nodiscard]] std::string write_memory_viz_json(const Exported& exported, Output& output);
[[nodiscard]] std::uint64_t most_bytes_of_memory_viz_json(const Exported& exported);
[[nodiscard]] std::string write_openmetrics(const Exported& exported, Output& output);
[[nodiscard]] std::string write_rmm(const Exported& exported, Output& output);
[[nodiscard]] std::string write_sqlite(const Exported& exported, Output& output);
[[nodiscard]] std::string write_pprof(const Exported& exported, Output& output);
// Returns the content of that file; "" where this build is without protobuf.
[[nodiscard]] std::string pprof_profile(const Exported& exported);
[[nodiscard]] std::string write_perfetto(const Exported& exported, Output& output);
[[nodiscard]] std::string write_speedscope(const Exported& exported, Output& output);

}  // namespace vramscope
