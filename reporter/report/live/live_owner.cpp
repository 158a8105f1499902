// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_owner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocator/ground/kept_errno.h"
#include "allocator/ground/live_memory.h"
#include "reporter/report/files/process_stat.h"

namespace vramscope {
namespace {

// The beginning of a small file, as a text; "" when it cannot be read.
template <std::size_t kBytes>
void read_text(const char* path, std::array<char, kBytes>& text) noexcept {
  text = {};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (::read(file, text.data(), kBytes - 1) < 0) text = {};
  close(file);
}

std::array<char, 40> boot_id() noexcept {
  constexpr std::size_t kIdBytes = 36;
  std::array<char, 40> text{};
  read_text("/proc/sys/kernel/random/boot_id", text);
  for (std::size_t i = kIdBytes; i < text.size(); ++i) text[i] = 0;
  return text;
}

std::uint64_t pid_namespace() noexcept {
  struct stat found {};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

// A process whose main thread has ended looks dead, and has other threads.
bool has_other_threads(std::int64_t pid) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%lld/task", static_cast<long long>(pid));
  struct stat found {};
  return stat(path.data(), &found) == 0 && found.st_nlink > 3;
}

// The process with that number has gone, or it is another one.
bool is_gone(const LiveOwner& owner) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%lld/stat", static_cast<long long>(owner.pid));
  const ProcessStat now = process_stat(path.data());
  if (now.state == 0)
    return process_stat("/proc/self/stat").state != 0;  // else nothing can be told
  if (owner.start_ticks != 0 && now.start_ticks != owner.start_ticks) return true;
  return (now.state == 'Z' || now.state == 'X') && !has_other_threads(owner.pid);
}

// Readers lock it together with others: only the process that writes it has it to itself.
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

LiveOwner this_owner() noexcept {
  const KeptErrno kept;
  return {.pid = getpid(),
          .pid_namespace = pid_namespace(),
          .start_ticks = process_stat("/proc/self/stat").start_ticks,
          .boot_id = boot_id()};
}

// The owner is what the process's root begins with.
std::optional<LiveOwner> owner_of(int file) noexcept {
  std::uint64_t magic = 0;
  std::uint32_t format = 0;
  std::uint64_t base = 0;
  std::uint64_t root = 0;
  const bool known = read_at(file, offsetof(LiveHeader, magic), magic) &&
                     read_at(file, offsetof(LiveHeader, format), format) &&
                     read_at(file, offsetof(LiveHeader, base), base) &&
                     read_at(file, offsetof(LiveHeader, process), root);
  if (!known || magic != LiveHeader::kMagic || format != LiveHeader::kFormat) return std::nullopt;
  if (root < base || root - base >= kLiveParts * kLivePartBytes) return std::nullopt;
  LiveOwner owner;
  if (!read_at(file, root - base, owner)) return std::nullopt;
  owner.boot_id.back() = 0;
  return owner;
}

bool is_alive(int file, const LiveOwner& owner) noexcept {
  const LiveOwner reader = this_owner();
  const bool knows_boot = owner.boot_id[0] != 0 && reader.boot_id[0] != 0;
  if (knows_boot && owner.boot_id != reader.boot_id) return false;
  const bool is_near = owner.pid_namespace != 0 && owner.pid_namespace == reader.pid_namespace;
  if (is_near && is_gone(owner)) return false;
  return owner.is_locked == 0 || is_locked(file);
}

}  // namespace vramscope
