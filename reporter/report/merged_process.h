// merged_processes() lists the processes of a report, also of a merged one; identity_of()
// identifies a process among all others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace vramscope {

struct MergedProcess;
struct ProcessFacts;
struct Report;

// The number of live shares that a merged process keeps.
inline constexpr std::size_t kMostLive = 32;

// Returns the processes that were merged into the report, or the report's one process.
[[nodiscard]] std::vector<MergedProcess> merged_processes(const Report& report);

// Returns the build ID of the process's executable; "": none, or not known.
[[nodiscard]] std::string build_of(const Report& report);

// Identifies a process among all others: its host, its pid and its start time.
using ProcessIdentity = std::tuple<std::string, std::int64_t, std::uint64_t>;
[[nodiscard]] ProcessIdentity identity_of(const ProcessFacts& process);

// Returns whether the process had ended when its timeline ends. It had not if it went on after its
// report. For a killed process whose end nobody saw, only its last call may be known: it may have
// held memory longer.
[[nodiscard]] bool is_end_known(const MergedProcess& process);

}  // namespace vramscope
