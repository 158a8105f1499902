// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/own_socket.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "allocator/base/kept_errno.h"
#include "allocator/base/nap.h"

namespace vramscope {
namespace {

// Programs that use select() have fewer descriptors than this, and few others have as many.
constexpr rlim_t kHigh = 1000;
constexpr rlim_t kForUs = 16;  // numbers below the limit that are enough for all of ours

// Each side says what it does before it looks at the other.
constinit std::atomic<int> forks{0};  // threads that fork
constinit std::atomic<bool> makes_sockets{false};

int first_high_number() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= kForUs) return 3;
  return static_cast<int>(std::min(kHigh, limit.rlim_cur - kForUs));
}

}  // namespace

bool OwnSocket::take(int socket) noexcept {
  int high = fcntl(socket, F_DUPFD_CLOEXEC, first_high_number());
  if (high < 0) high = fcntl(socket, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(socket);
  if (high < 0) return false;
  own_ = identity_of(high);
  number_.store(high, std::memory_order_release);
  return true;
}

int OwnSocket::number() noexcept {
  const KeptErrno kept;
  const int number = number_.load(std::memory_order_relaxed);
  if (number >= 0 && identity_of(number) != own_) number_.store(-1, std::memory_order_relaxed);
  return number_.load(std::memory_order_relaxed);
}

void OwnSocket::close() noexcept {
  if (const int ours = number(); ours >= 0) {
    shutdown(ours, SHUT_RDWR);
    ::close(ours);
  }
  number_.store(-1, std::memory_order_relaxed);
}

void OwnSocket::close_in_child() noexcept {
  if (const int ours = number(); ours >= 0) ::close(ours);
  number_.store(-1, std::memory_order_relaxed);
}

NewSockets::NewSockets() noexcept {
  makes_sockets.store(true);
  holds_ = forks.load() == 0;
  if (!holds_) makes_sockets.store(false);
}

NewSockets::~NewSockets() {
  if (holds_) makes_sockets.store(false);
}

void NewSockets::before_fork() noexcept {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000};
  constexpr int kMostPauses = 2000;
  const KeptErrno kept;
  forks.fetch_add(1);
  for (int i = 0; i < kMostPauses && makes_sockets.load(); ++i) nap(kPause);
}

void NewSockets::after_fork_in_parent() noexcept { forks.fetch_sub(1); }

void NewSockets::after_fork_in_child() noexcept {
  forks.store(0);
  makes_sockets.store(false);
}

}  // namespace vramscope
