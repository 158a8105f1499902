// Asks the system whether a process has ended, and says so only if it is certain.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/maker.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "allocator/base/kept_errno.h"
#include "reporter/report/files/process_stat.h"

namespace vramscope {
namespace {

constexpr std::size_t kIdBytes = 36;

std::array<char, 40> boot_id() noexcept {
  std::array<char, 40> text{};
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  if (::read(file, text.data(), text.size() - 1) < static_cast<ssize_t>(kIdBytes)) text = {};
  close(file);
  for (std::size_t i = kIdBytes; i < text.size(); ++i) text[i] = 0;
  return text;
}

std::uint64_t number_of_namespace(const char* path) noexcept {
  struct stat found {};
  return stat(path, &found) == 0 ? found.st_ino : 0;
}

// A process whose main thread has ended looks dead although other threads run.
bool has_other_threads(std::int64_t pid) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%lld/task", static_cast<long long>(pid));
  struct stat found {};
  return stat(path.data(), &found) == 0 && found.st_nlink > 3;
}

// /proc may belong to another pid namespace than ours.
bool shows_our_numbers() noexcept {
  std::array<char, 24> text{};
  if (readlink("/proc/self", text.data(), text.size() - 1) <= 0) return false;
  return std::strtoll(text.data(), nullptr, 10) == getpid();
}

// Returns whether the file lies on a file system of this machine's own disks, not on that of a
// network, another machine or a program.
bool is_on_own_disk(int file) noexcept {
  constexpr std::uint64_t kXfs = 0x58465342;  // linux/magic.h has it since 5.6
  constexpr std::uint64_t kZfs = 0x2fc12fc1;  // from OpenZFS
  constexpr std::uint64_t kOwn[] = {
      BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, kXfs, kZfs};
  struct statfs system {};
  if (fstatfs(file, &system) != 0) return false;
  return std::find(std::begin(kOwn), std::end(kOwn), static_cast<std::uint64_t>(system.f_type)) !=
         std::end(kOwn);
}

std::time_t boot_seconds() noexcept {
  timespec now{};
  timespec since{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0 || clock_gettime(CLOCK_BOOTTIME, &since) != 0) {
    return 0;
  }
  return now.tv_sec - since.tv_sec;
}

}  // namespace

Maker this_maker() noexcept {
  const KeptErrno kept;
  return {.pid = getpid(),
          .pid_namespace = number_of_namespace("/proc/self/ns/pid"),
          .time_namespace = number_of_namespace("/proc/self/ns/time"),
          .start_ticks = process_stat("/proc/self/stat").start_ticks,
          .boot_id = boot_id()};
}

bool is_same_boot(const Maker& one, const Maker& other) noexcept {
  return one.boot_id[0] != 0 && one.boot_id == other.boot_id;
}

MakerState state_of(const Maker& maker) noexcept {
  const KeptErrno kept;
  const Maker here = this_maker();
  const bool is_near = is_same_boot(maker, here) && maker.pid_namespace != 0 &&
                       maker.pid_namespace == here.pid_namespace;
  if (!is_near || maker.pid <= 0 || maker.pid > INT_MAX) return MakerState::untold;
  if (kill(static_cast<pid_t>(maker.pid), 0) != 0 && errno == ESRCH) return MakerState::gone;
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%lld/stat", static_cast<long long>(maker.pid));
  const ProcessStat now = process_stat(path.data());
  if (now.state == 0 || !shows_our_numbers()) return MakerState::untold;
  const bool has_ticks = maker.start_ticks != 0 && maker.time_namespace == here.time_namespace;
  if (has_ticks && now.start_ticks != maker.start_ticks) return MakerState::gone;
  const bool has_ended = (now.state == 'Z' || now.state == 'X') && !has_other_threads(maker.pid);
  return has_ended ? MakerState::gone : MakerState::runs;
}

// Containers can have boot ids of their own, and one machine can show its file system to another.
// So the file's own time is used, which comes from the kernel that made it.
bool is_of_earlier_boot(int file, const Maker& maker) noexcept {
  const Maker here = this_maker();
  const bool differs = maker.boot_id[0] != 0 && here.boot_id[0] != 0 && !is_same_boot(maker, here);
  struct stat found {};
  return differs && is_on_own_disk(file) && fstat(file, &found) == 0 &&
         found.st_ctim.tv_sec < boot_seconds();
}

std::string maker_text(const Maker& maker) {
  return std::to_string(maker.pid) + "-" + std::to_string(maker.start_ticks) + "-" +
         std::to_string(maker.pid_namespace) + "-" + std::to_string(maker.time_namespace) + "-" +
         std::string(maker.boot_id.data());
}

std::optional<Maker> maker_of(std::string_view text) noexcept {
  Maker maker;
  const auto take = [&text](auto& number) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto used = static_cast<std::size_t>(read.ptr - text.data());
    if (read.ec != std::errc{} || used >= text.size() || text[used] != '-') return false;
    text.remove_prefix(used + 1);
    return true;
  };
  const bool has_numbers = take(maker.pid) && take(maker.start_ticks) &&
                           take(maker.pid_namespace) && take(maker.time_namespace);
  if (!has_numbers || (!text.empty() && text.size() != kIdBytes)) return std::nullopt;
  if (text.find_first_not_of("0123456789abcdef-") != text.npos) return std::nullopt;
  std::copy(text.begin(), text.end(), maker.boot_id.begin());
  return maker;
}

}  // namespace vramscope
