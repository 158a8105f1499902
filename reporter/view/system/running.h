// running_processes() finds the processes of this user that Vramscope records now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramscope {

struct RunningProcess {
  std::int64_t pid = 0;
  std::string live_file = {};  // path; "": it has none that can be read here
};

// Where processes are looked for. in_folders: only in the usual folders of live files, which takes
// microseconds. and_containers: also processes of this user in other pid namespaces.
enum class LookFor : std::uint8_t { in_folders, everywhere, and_containers };

// Returns them by pid: those whose live files lie in the usual folders, and those that /proc shows
// to have the library's thread. Processes of other users are left out, and so are programs that
// have not used CUDA yet. Sends no signal. May throw bad_alloc.
[[nodiscard]] std::vector<RunningProcess> running_processes(LookFor where = LookFor::everywhere);

// Returns a process of this user in another pid or mount namespace by its number here. Its live
// file is reached through /proc/PID/root. Nothing: it is not recorded, or that may not be read.
[[nodiscard]] std::optional<RunningProcess> running_in_container(std::int64_t pid);

}  // namespace vramscope
