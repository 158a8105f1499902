// What a report is of: one process or several, and how these ended. Whoever has to know asks here.
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
  exit,     // it ended by itself
  exec,     // another program took its place
  died,     // killed, or gone without a report of its own
  went_on,  // beyond the report
  untold,   // another tool's file, or a report that gives no reason
};
[[nodiscard]] End end_of(const MergedProcess& process);
[[nodiscard]] bool has_died(const MergedProcess& process);
// Those that have died.
[[nodiscard]] std::vector<const MergedProcess*> dead_among(
    const std::vector<MergedProcess>& processes);
// "killed", "died", "".
[[nodiscard]] std::string death_word(const MergedProcess& process);

// Why the report was written.
[[nodiscard]] Trigger trigger_of(const Report& report);
// Whether it was merged, of however many processes: then it has no process of its own.
[[nodiscard]] bool is_merged(const Report& report);
// Whether it is of several processes, so that its figures are their sums.
[[nodiscard]] bool is_of_several(const Report& report);

// Whether the program, or each of them, ended by itself, so that what is allocated was never freed.
[[nodiscard]] bool is_final(const Report& report);
[[nodiscard]] bool have_all_ended(const Report& report);  // by themselves, or were killed

}  // namespace vramscope
