// diff_text() and diff_json() show what changed between two reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/diff/diff.h"
#include "reporter/view/analysis/diff/other_gpus.h"
#include "reporter/view/analysis/driver_calls.h"
#include "reporter/view/analysis/peaks/peak_use.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/text/use_changes.h"

namespace vramscope {

// What is shown beside the differences. A limit is crossed when all memory of one device, that of
// the host, or one row grew by more.
struct DiffOf {
  std::string before;  // file
  std::string after;
  std::string before_end = {};  // "was killed by SIGKILL", of a run that did not just exit; else ""
  std::string after_end = {};
  DiffBy by = DiffBy::site;
  DiffAt at = DiffAt::peak;
  std::optional<std::uint64_t> limit = {};  // bytes
  std::size_t most = 0;                     // rows, 0 for all
  // What each memory held when the reports were made, where `at` is another time: the text says
  // which of that changed.
  std::vector<Difference> memory_at_end = {};
  // Of the driver, which the text says where their time changed much.
  DriverCalls before_calls = {};
  DriverCalls after_calls = {};
  std::vector<UseChange> uses = {};  // where all memory is compared at its peak
  std::vector<OtherGpu> other_gpus = {};
  // What made each GPU as full as it was, where `at` is the peak and nothing was chosen.
  std::vector<PeakUse> use_before = {}, use_after = {};
  bool is_one_report = false;  // it is compared with itself
  // false: a snapshot, whose state is compared instead of its peak.
  bool before_has_history = true, after_has_history = true;
  std::size_t before_processes = 1, after_processes = 1;  // whose figures are added
};

// Notes what the two reports are: GPUs with one number that differ, how many processes, whether
// both are one report or snapshots. May throw bad_alloc.
void describe_sides(DiffOf& of, const Report& before, const Report& after);

// Of the rows, with before and after beside each other.
[[nodiscard]] Columns<Difference> diff_columns();

// What diff_json() writes. `of` outlives it.
[[nodiscard]] Columns<Differences> diff_fields(const DiffOf& of);

[[nodiscard]] bool crosses(const Differences& found, std::uint64_t limit);

[[nodiscard]] Document diff_text(const Differences& found, const DiffOf& of, const Page& page);
[[nodiscard]] std::string diff_json(const Differences& found, const DiffOf& of);

}  // namespace vramscope
