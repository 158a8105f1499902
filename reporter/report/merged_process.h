// merged_processes() tells the processes of a report apart, also of one that was merged;
// identity_of() them from all others.
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

// A process that was merged keeps as many of its places that hold memory.
inline constexpr std::size_t kMostLive = 32;

// Those that were merged into the report, or the one whose it is.
[[nodiscard]] std::vector<MergedProcess> merged_processes(const Report& report);

// What tells a process from all others: its host, its number there, and when it began.
using ProcessIdentity = std::tuple<std::string, std::int64_t, std::uint64_t>;
[[nodiscard]] ProcessIdentity identity_of(const ProcessFacts& process);

// Whether the process had ended when its timeline does. Of one that was killed only its last call
// may be known, where nobody saw its end: it may have held on for as long as any.
[[nodiscard]] bool is_end_known(const MergedProcess& process);

}  // namespace vramscope
