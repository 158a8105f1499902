// Appends chunks to a trace file.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/traces/trace_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "allocator/base/standard_files.h"
#include "allocator/base/uncancelled.h"
#include "reporter/report/files/write_signals.h"

namespace vramscope {

namespace {

constexpr mode_t kMode = 0600;
constexpr int kMaxNames = 10000;
constexpr rlim_t kTop = 1024;  // what select() and most limits allow
constexpr rlim_t kRoom = 64;   // numbers left for other tools with the same idea

// Moves the descriptor away from the low numbers, since some programs rely on the lowest free one.
int raised(int descriptor) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < 2 * kRoom) return descriptor;
  const auto lowest = static_cast<int>(std::min(limit.rlim_cur, kTop) - kRoom);
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
  if (high < 0) return descriptor;
  close(descriptor);
  return high;
}

// A signal handler that left a write by longjmp would leave its chunk unfinished.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

bool has_room(int descriptor) noexcept {
  struct statvfs system {};
  if (fstatvfs(descriptor, &system) != 0 || system.f_blocks == 0) return true;  // not known
  return std::uint64_t{system.f_bavail} * system.f_frsize >= TraceFile::kLeftFree;
}

}  // namespace

TraceFile::TraceFile(std::string path) : path_(std::move(path)) {
  const int error = make();
  if (error != 0) {
    fail(error);
    return;
  }
  if (!write(trace_head(), {})) take_away();
}

TraceFile::~TraceFile() {
  const int descriptor = descriptor_.load();
  if (descriptor >= 0 && is_ours(descriptor)) close(descriptor);
}

void TraceFile::take_away() noexcept { remove_own_file(path_, own_); }

int TraceFile::make() {
  const std::string wanted = path_;
  if (const int error = why_not_beside(wanted.c_str()); error != 0) return error;
  const StandardFilesTaken above_them;
  for (int number = 0; number < kMaxNames; ++number) {
    if (number != 0) path_ = wanted + "~" + std::to_string(number);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int descriptor = ::open(path_.c_str(), kFlags, kMode);
    if (descriptor >= 0) {
      descriptor_ = raised(descriptor);
      own_ = identity_of(descriptor_);
      return own_.inode != 0 ? 0 : errno;
    }
    if (errno != EEXIST) return errno;
  }
  return EEXIST;
}

bool TraceFile::is_ours(int descriptor) const noexcept {
  return own_.inode != 0 && identity_of(descriptor) == own_;
}

// Opens the file again if the program has closed it, or opened something else under its number. Its
// name may belong to a pipe by now, on which opening must not wait.
int TraceFile::descriptor() noexcept {
  int known = descriptor_.load(std::memory_order_acquire);
  if (is_ours(known)) return known;
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int opened = ::open(path_.c_str(), kFlags);
  if (opened < 0) return -1;
  opened = raised(opened);
  if (is_ours(opened) && descriptor_.compare_exchange_strong(known, opened)) return opened;
  close(opened);
  errno = EBADF;
  return is_ours(known) ? known : -1;
}

void TraceFile::fail(int error) noexcept {
  int none = 0;
  error_.compare_exchange_strong(none, error, std::memory_order_acq_rel);
}

// Returns 0, or why the chunk is not completely in the file.
int TraceFile::write_at(std::uint64_t offset, std::span<const std::byte> head,
                        std::span<const std::byte> bytes) noexcept {
  const int asked = descriptor();
  if (asked < 0) return errno;
  if (!has_room(asked)) return ENOSPC;
  while (!head.empty() || !bytes.empty()) {
    const std::array<iovec, 2> parts = {{{const_cast<std::byte*>(head.data()), head.size()},
                                         {const_cast<std::byte*>(bytes.data()), bytes.size()}}};
    const int file = descriptor();  // checked last: any thread may close it at any moment
    if (file < 0) return errno;
    const ssize_t count = pwritev(file, parts.data(), parts.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0 ? ENOSPC : errno;
    const auto done = static_cast<std::size_t>(count);
    const std::size_t of_head = std::min(done, head.size());
    head = head.subspan(of_head);
    bytes = bytes.subspan(done - of_head);
    offset += done;
  }
  return 0;
}

bool TraceFile::write(std::span<const std::byte> head, std::span<const std::byte> bytes) noexcept {
  if (error() != 0) return false;
  const int kept = errno;
  const std::uint64_t size = head.size() + bytes.size();
  const std::uint64_t offset = end_.fetch_add(size, std::memory_order_relaxed);
  const Uncancelled uncancelled;  // this may be a thread of the program
  const BlockedSignals blocked;
  const HeldWriteSignals held;
  const int error = write_at(offset, head, bytes);
  if (error != 0) {
    fail(error);
    // A part of a chunk at the end is useless.
    std::uint64_t end = offset + size;
    if (end_.compare_exchange_strong(end, offset) && is_ours(descriptor_)) {
      static_cast<void>(!ftruncate(descriptor_, static_cast<off_t>(offset)));
    }
  }
  errno = kept;
  return error == 0;
}

}  // namespace vramscope
