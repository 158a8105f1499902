// What /proc tells about a process that is asked for a report.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/target.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "interpose/settings/options.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostOfProcFile = 64 << 20;  // of one file under /proc

std::optional<std::string> read_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string result;
  std::array<char, 1 << 16> buffer;
  ssize_t got = 0;
  do {
    got = ::read(file, buffer.data(), buffer.size());
    if (got > 0) result.append(buffer.data(), static_cast<std::size_t>(got));
  } while ((got > 0 && result.size() < kMostOfProcFile) || (got < 0 && errno == EINTR));
  const int error = errno;
  close(file);
  errno = error;
  if (got < 0) return std::nullopt;
  return result;
}

std::string read_link(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = readlink(path.c_str(), buffer.data(), buffer.size());
  return size > 0 ? std::string(buffer.data(), static_cast<std::size_t>(size)) : "";
}

bool has_library(std::string_view maps) {
  return maps.find("/libvramscope.so") != std::string_view::npos;
}

// Is the signal in that field of the status, "SigCgt" (caught) or "SigIgn" (ignored)? Each is a
// hexadecimal mask whose lowest bit is signal 1.
bool has_signal(const std::string& status, const std::string& field, int signal) {
  const std::string begin = "\n" + field + ":";
  const std::size_t at = status.find(begin);
  if (at == std::string::npos || signal < 1 || signal > 64) return false;
  const unsigned long long mask = std::strtoull(status.c_str() + at + begin.size(), nullptr, 16);
  return (mask >> (signal - 1) & 1) != 0;
}

// The last of four numbers: "Uid:", then the real, effective, saved and file system's user.
uid_t user_in(const std::string& status) {
  unsigned long user = 0;
  const std::size_t at = status.find("\nUid:");
  if (at != status.npos) std::sscanf(status.c_str() + at, "\nUid: %*u %*u %*u %lu", &user);
  return static_cast<uid_t>(user);
}

std::vector<const char*> variables_of(const std::string& environment) {
  std::vector<const char*> result;
  for (std::size_t at = 0; at < environment.size(); at = environment.find('\0', at) + 1) {
    result.push_back(environment.c_str() + at);
    if (environment.find('\0', at) == std::string::npos) break;
  }
  result.push_back(nullptr);
  return result;
}

std::string value_of(const std::vector<const char*>& variables, const std::string& name) {
  for (const char* entry : variables) {
    if (entry == nullptr) break;
    const std::string_view text = entry;
    if (text.starts_with(name + "=")) return std::string(text.substr(name.size() + 1));
  }
  return "";
}

// Patterns are resolved against the folder in which the program started.
std::string folder_of(const std::string& pattern, const std::string& start) {
  const std::size_t slash = pattern.rfind('/');
  if (slash == std::string::npos) return start;
  const std::string folder = pattern.substr(0, slash + 1);
  if (folder.find('%') != std::string::npos) return "";
  return folder.starts_with('/') ? folder : start + "/" + folder;
}

// Of the first thread that has such a name and more to say than it.
HelperState helper_of(const std::string& folder) {
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(folder + "task", error)) {
    const std::optional<std::string> name = read_file(thread.path().string() + "/comm");
    if (!name || !name->ends_with('\n')) continue;
    const auto state = helper_state(std::string_view(*name).substr(0, name->size() - 1));
    if (state && *state != HelperState{}) return *state;
  }
  return {};
}

}  // namespace

Target inspect(pid_t pid, int signal, const TargetFiles& files) {
  const std::vector<const char*> variables = variables_of(files.environment);
  const std::vector<Setting> settings = collect_settings(variables.data());
  const Options options = parse_options(settings).options;
  Target target;
  target.pid = pid;
  target.signal = signal != 0 ? signal : options.signal.number;
  target.user = user_in(files.status);
  target.note_file = value_of(variables, kNoteVariable);
  target.folder = folder_of(options.output, files.folder);
  const std::string process = "process " + std::to_string(pid);
  const bool is_librarys = target.signal == options.signal.number;
  target.is_held_back = is_librarys && files.helper.quota == HelperState::Quota::held_back;
  if (files.helper.is_beside_handler && is_librarys) {
    target.hint = process + " has a handler of its own for " + text(Signal{target.signal}) +
                  ", which runs too; to leave it alone, start it with run --signal SIGUSR2";
  }
  if (!has_library(files.maps)) {
    target.error = process + " runs without vramscope; start it with vramscope run";
  } else if (target.signal == 0) {
    target.error = process + " was told to take no signal (VRAMSCOPE_SIGNAL=none)";
  } else if (has_signal(files.status, "SigIgn", target.signal)) {
    target.error =
        process + " ignores " + text(Signal{target.signal}) + "; start it with another --signal";
  } else if (!has_signal(files.status, "SigCgt", target.signal)) {
    target.error = process + " does not catch " + text(Signal{target.signal}) +
                   ": it has not used CUDA yet, or has another VRAMSCOPE_SIGNAL";
  } else if (is_librarys && files.helper.quota == HelperState::Quota::used_up) {
    target.error = process +
                   " has written 1,000 reports on signals, and writes no more of them; "
                   "it writes one when it ends";
  }
  return target;
}

std::optional<TargetFiles> read_target(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  std::optional<std::string> status = read_file(folder + "status");
  if (!status) return std::nullopt;
  std::optional<std::string> maps = read_file(folder + "maps");
  if (!maps) return std::nullopt;
  std::optional<std::string> environment = read_file(folder + "environ");
  if (!environment) return std::nullopt;
  return TargetFiles{std::move(*maps), std::move(*status), std::move(*environment),
                     read_link(folder + "cwd"), helper_of(folder)};
}

}  // namespace vramscope
