// SPDX-License-Identifier: Apache-2.0
#include "interpose/ground/message.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "allocator/ground/kept_errno.h"
#include "allocator/ground/uncancelled.h"
#include "reporter/report/files/write_signals.h"

namespace vramscope {

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
    [[maybe_unused]] const ssize_t written = writev(STDERR_FILENO, parts.data(), parts.size());
  }
}

void say_once(Once which, const char* text) noexcept {
  static constinit std::array<std::atomic_flag, static_cast<std::size_t>(Once::count)> said{};
  if (!said[static_cast<std::size_t>(which)].test_and_set()) say(text);
}

}  // namespace vramscope
