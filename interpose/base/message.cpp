// SPDX-License-Identifier: Apache-2.0
#include "interpose/base/message.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "allocator/base/kept_errno.h"
#include "allocator/base/uncancelled.h"
#include "reporter/report/files/write_signals.h"

namespace vramscope {
namespace {

constexpr int kPatienceMs = 100;

// A full pipe without a reader, or a stopped terminal, may accept nothing for any time.
bool takes_a_line() noexcept {
  pollfd errors{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  int ready = -1;
  do ready = poll(&errors, 1, kPatienceMs);
  while (ready < 0 && errno == EINTR);
  return ready > 0 && (errors.revents & POLLOUT) != 0;
}

}  // namespace

void say(const char* text) noexcept {
  static constexpr char kPrefix[] = "vramscope: ";
  static constexpr char kEnd[] = "\n";
  const KeptErrno kept;
  // One system call, so that lines of several processes do not mix.
  const std::array<iovec, 3> parts = {{{const_cast<char*>(kPrefix), sizeof(kPrefix) - 1},
                                       {const_cast<char*>(text), std::strlen(text)},
                                       {const_cast<char*>(kEnd), 1}}};
  {
    const Uncancelled uncancelled;
    const HeldWriteSignals held;  // nobody may be reading
    if (!takes_a_line()) return;
    [[maybe_unused]] const ssize_t written = writev(STDERR_FILENO, parts.data(), parts.size());
  }
}

void say_once(Once which, const char* text) noexcept {
  static constinit std::array<std::atomic_flag, static_cast<std::size_t>(Once::count)> said{};
  if (!said[static_cast<std::size_t>(which)].test_and_set()) say(text);
}

}  // namespace vramscope
