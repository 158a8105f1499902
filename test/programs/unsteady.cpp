// Preloaded after us: now and then the library gets no memory, and its files are slow.
// SPDX-License-Identifier: Apache-2.0
//
// UNSTEADY_MEMORY=N: about each N-th request of libvramscope.so (malloc, calloc, realloc,
// aligned_alloc, mmap) is refused, from the first report on, for UNSTEADY_MS milliseconds.
// UNSTEADY_FILES=US: each of its writes takes so many microseconds more; with UNSTEADY_ALL=1 each
// of the program's, too.
// UNSTEADY_LOCK=1: somebody removes the first file that the library locks before it has the lock.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "test/programs/refused_memory.h"

namespace {

long each = 0, ms = 0, write_us = 0, all = 0, lock = 0;
std::atomic<long> refuses_until{0};  // in milliseconds of the monotonic clock

long now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

long setting(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

__attribute__((constructor)) void prepare() {
  dl_iterate_phdr(find_library, nullptr);
  each = setting("UNSTEADY_MEMORY");
  ms = setting("UNSTEADY_MS");
  write_us = setting("UNSTEADY_FILES");
  all = setting("UNSTEADY_ALL");
  lock = setting("UNSTEADY_LOCK");
}

bool is_refused(const void* caller) {
  if (refuses_until.load(std::memory_order_relaxed) == 0) return false;
  if (now_ms() >= refuses_until.load(std::memory_order_relaxed) || !is_of_library(caller))
    return false;
  static std::atomic<std::uint64_t> state{88172645463325252u};
  const std::uint64_t mixed =
      state.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed) * 0xbf58476d1ce4e5b9u;
  if ((mixed >> 32) % static_cast<std::uint64_t>(each) != 0) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

EXPORT ssize_t write(int file, const void* bytes, std::size_t count) {
  if (all != 0) usleep(static_cast<unsigned>(write_us));
  if (is_of_library(__builtin_return_address(0))) {
    long none = 0;
    if (each != 0) refuses_until.compare_exchange_strong(none, now_ms() + ms);
    if (write_us != 0) usleep(static_cast<unsigned>(write_us));
  }
  return syscall(SYS_write, file, bytes, count);
}

EXPORT int flock(int file, int operation) {
  if (lock != 0 && is_of_library(__builtin_return_address(0))) {
    lock = 0;
    char path[4096] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    if (readlink(link.c_str(), path, sizeof path - 1) > 0) unlink(path);
  }
  return static_cast<int>(syscall(SYS_flock, file, operation));
}
