// Subject functions say what a report covers: one process or several, and how these ended.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/trigger.h"

namespace vramscope {

struct MergedProcess;
struct Report;

// What is known of a process's end.
enum class End : std::uint8_t {
  exit,     // it ended normally
  exec,     // it executed another program
  died,     // it was killed, or ended without a report of its own
  went_on,  // it continued after the report
  untold,   // another tool's file, or a report that gives no reason
};
[[nodiscard]] End end_of(const MergedProcess& process);
[[nodiscard]] bool has_died(const MergedProcess& process);
// Returns the processes that have died.
[[nodiscard]] std::vector<const MergedProcess*> dead_among(
    const std::vector<MergedProcess>& processes);
// Returns "killed", "died" or "".
[[nodiscard]] std::string death_word(const MergedProcess& process);

// Returns why the report was written.
[[nodiscard]] Trigger trigger_of(const Report& report);
// Returns whether it was merged, from any number of processes: it then has no process of its own.
[[nodiscard]] bool is_merged(const Report& report);
// Returns whether it covers several processes, so that its figures are their sums.
[[nodiscard]] bool is_of_several(const Report& report);

// Returns whether the program, or each of them, ended normally, so that what is allocated was never
// freed.
[[nodiscard]] bool is_final(const Report& report);
[[nodiscard]] bool have_all_ended(const Report& report);  // normally, or were killed

}  // namespace vramscope
