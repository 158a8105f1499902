// LiveOwner names the process that writes a live file, so that others can tell whether it is dead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "reporter/report/files/maker.h"

namespace vramscope {

struct LiveHeader;

// Lies in the file as it is.
struct LiveOwner : Maker {
  // It has a lock on the file (flock). A mapping holds that, and no descriptor: neither closing
  // every descriptor nor a forked child changes it, and exec and every end give it up.
  std::uint32_t is_locked = 0;
};

// The calling process; is_locked is left 0. Keeps errno. Threads: any.
[[nodiscard]] LiveOwner this_owner() noexcept;

// Nobody else has the open file to himself from now on; false: somebody else has, or it cannot be
// locked. Who only asks whether somebody has it has it for an instant: so it is tried 20 times,
// with so long a pause between, which is below a second. Threads: any.
[[nodiscard]] bool lock_alone(int file, long pause_ns) noexcept;

// Lets the file say it.
void set_owner(LiveHeader& header, const LiveOwner& owner) noexcept;

// What an open live file says; nothing when it is none, or is not complete enough to say it.
[[nodiscard]] std::optional<LiveOwner> owner_of(int file) noexcept;

// Whether that process may still write to the open file. untold: it may run elsewhere, or the file
// is a copy of one that was made on another machine or before this one was started.
enum class OwnerState : std::uint8_t { alive, dead, untold };
[[nodiscard]] OwnerState state_of(int file, const LiveOwner& owner) noexcept;

}  // namespace vramscope
