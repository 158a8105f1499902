// ExportFormat is a format of other tools that reports and traces are written in: one file each.
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

  std::string_view name;    // that --format takes
  std::string_view suffix;  // of files in it
  std::string_view opens_in;
  std::string_view how;  // a command, or what to do there; FILE stands for the file
  Needs needs = Needs::either;
  // Gives "", or one line that says why it is not written. What the output itself complains of is
  // its own affair. May throw bad_alloc.
  std::string (*write)(const Exported& exported, Output& output) = nullptr;
  // Of a format that may become far larger than the file it is made of: bytes, at most. May throw
  // bad_alloc.
  std::uint64_t (*most_bytes)(const Exported& exported) = nullptr;
  // Gives "", or one line that says why there is nothing to write.
  std::string (*why_not)(const Exported& exported) = nullptr;
  // Gives "", or why this build lacks the format; null: no build does.
  std::string_view (*why_left_out)() noexcept = nullptr;
  // Whether memory of the kind is in the file; null: all is.
  bool (*shows)(const Exported& exported, const KindFacts& kind) = nullptr;
  // Besides: what of a report, and of a trace, is not in it; "": nothing that one may miss.
  std::string_view lost_of_report = {};
  std::string_view lost_of_trace = {};
  bool is_of_stacks = false;  // without an allocation there is nothing to look at
};

// What the file has not: "pinned and registered memory (--kind chooses); history"; "": nothing.
[[nodiscard]] std::string lost_in(const Exported& exported, const ExportFormat& format);
// Why there would be nothing to look at; "": there is something.
[[nodiscard]] std::string nothing_in(const Exported& exported, const ExportFormat& format);

[[nodiscard]] std::span<const ExportFormat> export_formats();
// Null: there is none of that name.
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
[[nodiscard]] std::string write_perfetto(const Exported& exported, Output& output);
[[nodiscard]] std::string write_speedscope(const Exported& exported, Output& output);

}  // namespace vramscope
