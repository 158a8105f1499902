// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/host_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "allocator/base/kept_errno.h"
#include "allocator/base/uncancelled.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The limits of control groups, versions 2 and 1, as a container sees its own.
constexpr const char* kLimits[] = {"/sys/fs/cgroup/memory.max",
                                   "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

// Returns the limit in bytes; none for "max" or a missing file.
std::uint64_t limit_in(const char* path) {
  char text[32] = {};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return kUnlimited;
  const ssize_t length = ::read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0 || text[0] < '0' || text[0] > '9') return kUnlimited;
  return std::strtoull(text, nullptr, 10);
}

}  // namespace

std::uint64_t host_memory_bytes() noexcept {
  const KeptErrno kept;
  const Uncancelled no_cancellation_point{};
  const auto pages = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  std::uint64_t bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : kLimits) bytes = std::min(bytes, limit_in(path));
  return bytes;
}

}  // namespace vramscope
