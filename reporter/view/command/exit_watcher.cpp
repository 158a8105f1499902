// Waits at once for changes of the note and for the ends of all processes named there.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/exit_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "reporter/report/files/process_stat.h"
#include "reporter/report/live/live_image.h"
#include "reporter/report/live/live_owner.h"
#include "reporter/view/system/note_file.h"

namespace vramscope {
namespace {

constexpr int kLookAgainMs = 20;  // for a live file that was noted and is not complete yet

std::uint64_t wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

// A descriptor that is readable once the process has ended; -1: it has, or is none of ours.
int end_of(const LiveOwner& owner) {
  if (owner.pid_namespace == 0 || owner.pid_namespace != this_owner().pid_namespace) return -1;
  const int process = static_cast<int>(syscall(SYS_pidfd_open, owner.pid, 0));
  if (process < 0) return -1;
  const std::string path = "/proc/" + std::to_string(owner.pid) + "/stat";
  if (process_stat(path.c_str()).start_ticks == owner.start_ticks) return process;
  close(process);
  return -1;
}

// What the thread knows.
class Watched {
 public:
  explicit Watched(const std::string& note) : note_(note) {}
  ~Watched() {
    for (const auto& [process, file] : processes_) close(process);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Whether all that are noted are known.
  bool look() {
    bool are_all_known = true;
    for (const std::string& path : notes_in(note_).live_files) {
      if (seen_.count(path) != 0) continue;
      const OpenLiveFile file(path);
      const std::optional<LiveOwner> owner =
          file.problem().empty() ? owner_of(file.number()) : std::nullopt;
      if (!owner && access(path.c_str(), F_OK) == 0) {
        are_all_known = false;
        continue;
      }
      seen_.insert(path);
      const int process = owner ? end_of(*owner) : -1;
      if (process >= 0) processes_.emplace_back(process, path);
    }
    return are_all_known;
  }

  void add_to(std::vector<pollfd>& all) const {
    for (const auto& [process, file] : processes_) all.push_back({process, POLLIN, 0});
  }

  // `ready`: what poll() said of those that add_to() added.
  void note_ends(const pollfd* ready, EndTimes& ends) {
    const std::uint64_t now_ns = wall_clock_ns();
    std::vector<std::pair<int, std::string>> alive;
    for (auto& [process, file] : processes_) {
      if ((ready++)->revents == 0) {
        alive.emplace_back(process, std::move(file));
        continue;
      }
      ends[file] = now_ns;
      close(process);
    }
    processes_ = std::move(alive);
  }

 private:
  const std::string& note_;
  std::set<std::string> seen_;
  std::vector<std::pair<int, std::string>> processes_;
};

void drain(int changes) {
  char events[4096];
  while (read(changes, events, sizeof events) > 0) {
  }
}

void watch(const std::string& note, int changes, int stop, EndTimes& ends) {
  Watched watched(note);
  bool is_last = false;
  while (!is_last) {
    const bool are_all_known = watched.look();
    std::vector<pollfd> all = {{stop, POLLIN, 0}, {changes, POLLIN, 0}};
    watched.add_to(all);
    if (poll(all.data(), all.size(), are_all_known ? -1 : kLookAgainMs) < 0) continue;
    is_last = all[0].revents != 0;
    if (all[1].revents != 0) drain(changes);
    watched.note_ends(all.data() + 2, ends);
  }
}

}  // namespace

ExitWatcher::ExitWatcher(const std::string& note) {
  const int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (changes < 0) return;
  stop_ = eventfd(0, EFD_CLOEXEC);
  if (stop_ < 0 || inotify_add_watch(changes, note.c_str(), IN_MODIFY) < 0) {
    close(changes);
    return;
  }
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this, note, changes] {
      watch(note, changes, stop_, ends_);
      close(changes);
    });
  } catch (const std::system_error&) {
    close(changes);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ExitWatcher::end_thread() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_, 1);
  thread_.join();
}

ExitWatcher::~ExitWatcher() {
  end_thread();
  if (stop_ >= 0) close(stop_);
}

EndTimes ExitWatcher::stop() {
  end_thread();
  return std::move(ends_);
}

}  // namespace vramscope
