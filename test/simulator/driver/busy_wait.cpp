// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver/busy_wait.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "test/simulator/device/refused_program.h"
#include "test/simulator/device/transfer.h"
#include "test/simulator/driver/driver.h"

namespace vramscope::simulator {

std::atomic<bool> is_called{false};

namespace {

constexpr int kWindows = 20;  // that a wait is divided into; in the last of them pages are watched
constexpr int kWatched = 4;
constexpr std::uint64_t kMostWatched = std::uint64_t{4} << 20;  // bytes of one allocation

struct Range {
  Address start = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// Pages that nobody wrote to are all one page of zeros, whose readers nobody counts. Their content
// stays.
void make_real(Range range) {
#ifdef MADV_POPULATE_WRITE
  madvise(reinterpret_cast<void*>(range.start), range.bytes, MADV_POPULATE_WRITE);
#endif
}

// Whole pages of the host that a kernel could write to.
std::vector<Range> host_memory() {
  std::vector<Range> found;
  driver().memory.each([&](const Allocation& a) {
    const bool is_host = a.kind == Kind::pinned || (a.kind == Kind::managed && a.pool == nullptr);
    if (is_host && a.bytes <= kMostWatched)
      found.push_back({a.start, round_up(a.bytes, kHostPage)});
  });
  return found;
}

// Makes processors look into the page tables again, which they do not mark otherwise: Linux flushes
// all that they remember of a process where it gives up more than 33 pages at once.
void flush_translations() {
  constexpr std::size_t kBytes = 128 * kHostPage;
  void* const pages =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;
  std::memset(pages, 1, kBytes);
  munmap(pages, kBytes);
}

// A page that is read from now on counts as referenced.
bool forget_references() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_done = write(file, "1", 1) == 1;
  close(file);
  flush_translations();
  return is_done;
}

// Returns the bytes of the range that were read or written since, as far as the kernel's areas,
// which may be larger than the range, tell.
std::uint64_t referenced_in(Range range) {
  std::ifstream areas("/proc/self/smaps");
  std::string line;
  bool is_in = false;
  std::uint64_t bytes = 0;
  while (std::getline(areas, line)) {
    unsigned long first = 0, last = 0, kib = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
      is_in = first < range.start + range.bytes && last > range.start;
    } else if (is_in && std::sscanf(line.c_str(), "Referenced: %lu kB", &kib) == 1) {
      bytes += kib << 10;
    }
  }
  return bytes;
}

// Makes the pages of the range an area of their own, or no longer: a core dump without them, until
// then, is all that changes.
void set_apart(Range range, bool is_apart) {
  madvise(reinterpret_cast<void*>(range.start), range.bytes,
          is_apart ? MADV_DONTDUMP : MADV_DODUMP);
}

// What a thread did: how it stands, its processor time in ticks, and how often it waited.
struct ThreadState {
  char state = '?';
  unsigned long ticks = 0;
  unsigned long waits = 0;
};

std::optional<ThreadState> state_of(const std::string& id) {
  ThreadState found;
  const std::string folder = "/proc/self/task/" + id;
  std::ifstream stat(folder + "/stat");
  std::string line;
  if (!std::getline(stat, line) || line.rfind(')') == std::string::npos) return std::nullopt;
  unsigned long user = 0;
  const char* const rest = line.c_str() + line.rfind(')') + 1;
  if (std::sscanf(rest, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &found.state, &user) !=
      2) {
    return std::nullopt;
  }
  found.ticks = user;
  std::ifstream status(folder + "/status");
  while (std::getline(status, line)) {
    if (std::sscanf(line.c_str(), "voluntary_ctxt_switches: %lu", &found.waits) == 1) break;
  }
  return found;
}

std::map<std::string, ThreadState> threads() {
  std::map<std::string, ThreadState> found;
  DIR* const folder = opendir("/proc/self/task");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    if (const auto state = state_of(entry->d_name)) found[entry->d_name] = *state;
  }
  closedir(folder);
  return found;
}

// The one thread that ran and never waited since; "": none, or several.
std::string sole_busy_thread(const std::map<std::string, ThreadState>& before) {
  std::string busy;
  for (const auto& [id, now] : threads()) {
    const auto then = before.find(id);
    if (then == before.end() || now.state != 'R' || now.ticks == then->second.ticks) continue;
    if (now.waits != then->second.waits) continue;
    if (!busy.empty()) return "";
    busy = id;
  }
  return busy;
}

class Watch {
 public:
  void run() {
    for (int quiet = 0; !is_said_;) {
      pause();
      quiet = is_called.exchange(false) ? 0 : quiet + 1;
      if (quiet >= kWindows - kWatched && judge()) quiet = 0;
    }
  }

 private:
  static void pause() {
    const std::uint64_t ms = configuration().busy_wait_ms / kWindows;
    std::this_thread::sleep_for(std::chrono::milliseconds(ms + 1));
  }

  // The page of the range that is read, in windows with half of the pages each; nothing if they are
  // several, or the program went on.
  static std::optional<Address> page_in(Range range) {
    while (range.bytes > kHostPage) {
      const Range half{range.start, round_up(range.bytes / 2, kHostPage)};
      set_apart(half, true);
      forget_references();
      pause();
      const bool is_in_first = referenced_in(half) != 0;
      const Range other{half.start + half.bytes, range.bytes - half.bytes};
      const bool is_in_second = referenced_in(other) != 0;
      set_apart(half, false);
      if (is_called || is_in_first == is_in_second) return std::nullopt;
      range = is_in_first ? half : other;
    }
    return range.start;
  }

  // Returns whether it asked in vain, so that it should ask again later.
  bool judge() {
    const auto before = threads();
    std::vector<Range> read = host_memory();
    for (const Range& range : read) make_real(range);
    for (int i = 0; i < kWatched && !read.empty(); ++i) {
      if (!forget_references()) return true;
      pause();
      if (is_called) return true;
      std::erase_if(read, [](Range range) { return referenced_in(range) == 0; });
    }
    if (read.empty()) return true;
    const std::string busy = sole_busy_thread(before);
    if (busy.empty()) return true;
    std::optional<Address> page;
    for (const Range& range : read) {
      const auto one = page_in(range);
      if (one && page) return true;
      if (one) page = one;
    }
    if (!page || is_called || changes(*page)) return true;
    say(busy, *page);
    return false;
  }

  // Reads the page itself, now that it is known, as long as it is there.
  static std::string content_of(Address page) {
    const std::shared_lock nobody_frees(bytes_mutex());
    if (!driver().memory.find(page)) return {};
    return {reinterpret_cast<const char*>(page), kHostPage};
  }
  static bool changes(Address page) {
    const std::string before = content_of(page);
    pause();
    return before.empty() || content_of(page) != before;
  }

  void say(const std::string& thread, Address page) {
    char address[32];
    std::snprintf(address, sizeof address, "%#lx", static_cast<unsigned long>(page));
    say_once("thread " + thread + " has been reading pinned or managed memory at " + address +
             " for " + std::to_string(configuration().busy_wait_ms / 1000) +
             " s without a call of CUDA. If it waits for what a kernel writes, it waits for ever: "
             "kernels are not executed here");
    is_said_ = true;
  }

  bool is_said_ = false;
};

}  // namespace

void watch_for_busy_wait() {
  static std::atomic<bool> is_begun{false};
  if (configuration().busy_wait_ms == 0 || is_begun.exchange(true)) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([] { Watch().run(); }).detach();
  } catch (const std::system_error&) {  // then nobody watches
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace vramscope::simulator
