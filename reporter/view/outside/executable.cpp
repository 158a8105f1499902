// Finds programs as a shell does, and asks their loader.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/outside/executable.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "reporter/view/outside/elf_program.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostListed = std::size_t{64} << 10;
constexpr int kRefused = 127;  // by the loader

std::string in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), F_OK) == 0 ? name : "";
  const char* const folders = std::getenv("PATH");
  std::istringstream rest(folders != nullptr ? folders : "/bin:/usr/bin");
  for (std::string folder; std::getline(rest, folder, ':');) {
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path)) return path;
  }
  return "";
}

// What a command prints, both streams; "" when it cannot be started.
std::string output_of(std::array<const char*, 4> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0], &actions, nullptr, const_cast<char**>(words.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while (error == 0 && (got = read(ends[0], part.data(), part.size())) != 0) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0 && text.size() < kMostListed)
      text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (error == 0) waitpid(child, nullptr, 0);
  return text;
}

}  // namespace

Executable find_executable(const std::string& name) {
  Executable program;
  program.path = in_path(name);
  const auto file = ElfProgram::open(program.path);
  if (!file) return program;
  program.elf = true;
  program.narrow = file->is_narrow();
  program.native = file->is_native();
  if (program.native) program.loader = file->loader();
  return program;
}

std::string more_rights(const std::string& path) {
  struct stat status {};
  struct statvfs system {};
  if (stat(path.c_str(), &status) != 0) return "";
  if (statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return "";
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) return "is set-user-id";
  const bool group = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0;
  if (group && status.st_gid != getgid()) return "is set-group-id";
  const bool capable = getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  return capable && getuid() != 0 ? "has capabilities of its own (setcap)" : "";
}

std::string listed_by_loader(const Executable& program) {
  return output_of({program.loader.c_str(), "--list", program.path.c_str(), nullptr});
}

std::string loader_complaint(std::string_view listed) {
  constexpr std::string_view kError = "error while loading shared libraries: ";
  constexpr std::string_view kMissing = " => not found";
  constexpr std::string_view kVersion = " not found (required by ";
  while (!listed.empty()) {
    std::string_view line = listed.substr(0, listed.find('\n'));
    listed.remove_prefix(std::min(listed.size(), line.size() + 1));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (const auto at = line.find(kError); at != line.npos) {
      return std::string(line.substr(at + kError.size()));
    }
    if (const auto at = line.find(kMissing); at != line.npos) {
      return std::string(line.substr(0, at)) + " is not found";
    }
    if (line.find(kVersion) != line.npos) return std::string(line);
  }
  return "";
}

std::string why_not_loaded(const std::string& name, int status) {
  const Executable program = find_executable(name);
  if (!program.elf) return "";
  if (program.narrow) return "32-bit programs run unrecorded";
  if (!program.native) return "the program is not for " + ElfProgram::own_machine();
  if (program.loader.empty()) return "the program is linked statically: nothing can be preloaded";
  const std::string rights = more_rights(program.path);
  if (!rights.empty()) return "the program " + rights + ": nothing is preloaded into it";
  if (status != kRefused) return "";
  const std::string complaint = loader_complaint(listed_by_loader(program));
  return complaint.empty() ? "" : "the loader refused the program: " + complaint;
}

std::string why_not_started(const std::string& name) {
  const Executable program = find_executable(name);
  if (program.path.empty()) return "";
  if (!program.loader.empty() && access(program.loader.c_str(), F_OK) != 0) {
    return "its loader '" + program.loader + "' is not there";
  }
  return is_on_noexec(program.path) ? "its file system is mounted noexec" : "";
}

bool is_on_noexec(const std::string& path) {
  struct statvfs system {};
  return statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0;
}

}  // namespace vramscope
