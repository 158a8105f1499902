// Looks into the usual folders and into /proc.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/running.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>

#include "interpose/settings/private_variables.h"
#include "reporter/report/live/recover_file.h"
#include "reporter/view/system/left_overs.h"

namespace vramscope {
namespace {

namespace fs = std::filesystem;
using LiveFiles = std::map<std::int64_t, std::string>;  // by process

void add_usual_files(LiveFiles& found) {
  for (const std::string& folder : usual_live_folders()) {
    for (const std::string& path : live_files_in(folder)) {
      const LiveFileOwner owner = owner_of_live_file(path);
      if (owner.is_alive && owner.is_near) found.emplace(owner.pid, path);
    }
  }
}

bool is_own(const std::string& folder) {
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 && status.st_uid == geteuid();
}

std::int64_t number_of(const std::string& name) {
  std::int64_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  return read.ec == std::errc{} && read.ptr == name.data() + name.size() ? number : 0;
}

// The helper thread exists from the first cuInit on. Threads of this tool have its name, too.
bool has_helper(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator thread(folder + "/task", error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream file(thread->path() / "comm");
    std::string name;
    if (std::getline(file, name) && helper_state(name)) return true;
  }
  return false;
}

// The path at the end of a line of /proc/PID/maps that is shared and writable; "" of any other.
std::string shared_path(const std::string& line) {
  const std::size_t slash = line.find('/');
  const bool is_shared = line.find(" rw-s ") < slash;
  return slash != line.npos && is_shared ? line.substr(slash) : "";
}

// The live file that a process has mapped, wherever it lies; "": it has none. Nothing: it has not
// mapped the library. root: what its paths begin with here. pid: its number where it made the file.
std::optional<std::string> live_file_of_recorded(const std::string& folder, const std::string& root,
                                                 std::int64_t pid) {
  std::ifstream maps(folder + "/maps");
  bool is_recorded = false;
  std::string live_file, last;
  for (std::string line; std::getline(maps, line);) {
    is_recorded = is_recorded || line.find("/libvramscope.so") != line.npos;
    std::string path = live_file.empty() ? shared_path(line) : "";
    if (path.empty() || path == last) continue;
    const std::string here = root + path;
    if (is_live_file(here) && owner_of_live_file(here).pid == pid) live_file = here;
    last = std::move(path);
  }
  if (!is_recorded) return std::nullopt;
  return live_file;
}

// The number of a process in the innermost pid namespace that it is in: the last behind "NSpid:".
std::int64_t own_number_of(const std::string& folder) {
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("NSpid:")) return number_of(line.substr(line.find_last_of(" \t") + 1));
  }
  return 0;
}

std::optional<std::string> live_file_in_container(const std::string& folder) {
  return live_file_of_recorded(folder, folder + "/root", own_number_of(folder));
}

void add_recorded(LiveFiles& found, LookFor where) {
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string folder = entry->path().string();
    const std::int64_t pid = number_of(entry->path().filename().string());
    if (pid == 0 || found.contains(pid) || !is_own(folder) || !has_helper(folder)) continue;
    const bool is_here = where != LookFor::and_containers || own_number_of(folder) == pid;
    const auto path =
        is_here ? live_file_of_recorded(folder, "", pid) : live_file_in_container(folder);
    if (path) found.emplace(pid, *path);
  }
}

}  // namespace

std::optional<RunningProcess> running_in_container(std::int64_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  if (!is_own(folder) || !has_helper(folder)) return std::nullopt;
  const auto path = live_file_in_container(folder);
  if (!path || path->empty()) return std::nullopt;
  return RunningProcess{.pid = pid, .live_file = *path};
}

std::vector<RunningProcess> running_processes(LookFor where) {
  LiveFiles found;
  add_usual_files(found);
  if (where != LookFor::in_folders) add_recorded(found, where);
  std::vector<RunningProcess> running;
  for (const auto& [pid, path] : found) running.push_back({pid, path});
  return running;
}

}  // namespace vramscope
