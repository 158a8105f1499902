// LiveOwner names the process that writes a live file, so that others can find out whether it is
// dead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "reporter/report/files/maker.h"

namespace vramscope {

struct LiveHeader;

// Lies in the file in this form.
struct LiveOwner : Maker {
  // The process holds a lock on the file (flock). A mapping holds the lock, not a descriptor:
  // neither closing all descriptors nor a forked child changes it; exec and every end of the
  // process release it.
  std::uint32_t is_locked = 0;
};

// Returns the calling process, with is_locked 0. Keeps errno. Threads: any.
[[nodiscard]] LiveOwner this_owner() noexcept;

// Locks the open file exclusively. Returns false if another process has a lock, or the file cannot
// be locked. A process that only checks the lock holds it for an instant, so 20 attempts are made
// with pauses of `pause_ns`, which is below a second. Threads: any.
[[nodiscard]] bool lock_alone(int file, long pause_ns) noexcept;

// Writes the owner into the header.
void set_owner(LiveHeader& header, const LiveOwner& owner) noexcept;

// Returns the owner of an open live file, or nothing if it is not a live file or not yet complete
// enough.
[[nodiscard]] std::optional<LiveOwner> owner_of(int file) noexcept;

// Whether the owner may still write to the open file. untold: it may run elsewhere, or the file is
// a copy of one that was made on another machine or before this boot.
enum class OwnerState : std::uint8_t { alive, dead, untold };
[[nodiscard]] OwnerState state_of(int file, const LiveOwner& owner) noexcept;

}  // namespace vramscope
