// LiveOwner names the process that writes a live file, so that others can tell whether it is dead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace vramscope {

// Lies in the file as it is. Zero where the system does not say.
struct LiveOwner {
  std::int64_t pid = 0;             // in its own namespace of process ids
  std::uint64_t pid_namespace = 0;  // that namespace's number
  std::uint64_t start_ticks = 0;    // when it started: field 22 of /proc/PID/stat
  std::array<char, 40> boot_id{};   // of the machine's run, 36 characters and zeros
  // It has a lock on the file (flock). A mapping holds that, and no descriptor: neither closing
  // every descriptor nor a forked child changes it, and exec and every end give it up.
  std::uint32_t is_locked = 0;
};

// The calling process; is_locked is left 0. Keeps errno. Threads: any.
[[nodiscard]] LiveOwner this_owner() noexcept;

// What an open live file says; nothing when it is none, or is not complete enough to say it.
[[nodiscard]] std::optional<LiveOwner> owner_of(int file) noexcept;

// Whether that process may still write to the open file. Where nothing can be known it is said to
// be alive.
[[nodiscard]] bool is_alive(int file, const LiveOwner& owner) noexcept;

}  // namespace vramscope
