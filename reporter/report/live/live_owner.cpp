// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_owner.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <type_traits>

#include "allocator/base/kept_errno.h"
#include "allocator/base/live_memory.h"
#include "allocator/base/nap.h"

namespace vramscope {
namespace {

// Readers share the lock; only the process that writes the file locks it exclusively.
bool is_locked(int file) noexcept {
  if (flock(file, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  flock(file, LOCK_UN);
  return false;
}

template <class T>
bool read_at(int file, std::uint64_t offset, T& value) noexcept {
  return pread(file, &value, sizeof value, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(sizeof value);
}

}  // namespace

bool lock_alone(int file, long pause_ns) noexcept {
  constexpr int kAttempts = 20;
  const timespec pause{.tv_sec = 0, .tv_nsec = pause_ns};
  for (int i = 0; i < kAttempts; ++i) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return false;
    nap(pause);
  }
  return false;
}

LiveOwner this_owner() noexcept { return {this_maker()}; }

void set_owner(LiveHeader& header, const LiveOwner& owner) noexcept {
  static_assert(sizeof owner <= sizeof header.owner && std::is_trivially_copyable_v<LiveOwner>);
  std::memcpy(header.owner.data(), &owner, sizeof owner);
}

std::optional<LiveOwner> owner_of(int file) noexcept {
  std::uint64_t magic = 0;
  std::uint32_t format = 0;
  std::uint64_t base = 0;
  std::uint64_t root = 0;
  LiveOwner owner;
  const bool known = read_at(file, offsetof(LiveHeader, magic), magic) &&
                     read_at(file, offsetof(LiveHeader, format), format) &&
                     read_at(file, offsetof(LiveHeader, base), base) &&
                     read_at(file, offsetof(LiveHeader, process), root) &&
                     read_at(file, offsetof(LiveHeader, owner), owner);
  if (!known || magic != LiveHeader::kMagic || format != LiveHeader::kFormat) return std::nullopt;
  if (root < base || root - base >= kLiveParts * kLivePartBytes) return std::nullopt;
  if (owner.pid <= 0) return std::nullopt;
  owner.boot_id.back() = 0;
  return owner;
}

// The lock shows the state of every process of this kernel, whatever its number means. A released
// lock proves that the process no longer writes the file, also if it executed another program.
OwnerState state_of(int file, const LiveOwner& owner) noexcept {
  const KeptErrno kept;
  if (is_of_earlier_boot(file, owner)) return OwnerState::dead;
  const MakerState maker = state_of(owner);
  if (maker == MakerState::gone) return OwnerState::dead;
  const bool tells = owner.is_locked != 0 && is_same_boot(owner, this_maker());
  if (tells) return is_locked(file) ? OwnerState::alive : OwnerState::dead;
  const bool is_held = owner.is_locked != 0 && is_locked(file);
  return maker == MakerState::runs || is_held ? OwnerState::alive : OwnerState::untold;
}

}  // namespace vramscope
