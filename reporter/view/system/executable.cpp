// Finds programs as a shell does, and says what their loader would.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/executable.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "reporter/view/system/elf_program.h"
#include "reporter/view/system/library_search.h"

namespace vramscope {
namespace {

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

std::string why_inactive(const std::string& name) {
  const auto file = ElfProgram::open(in_path(name));
  if (!file || !file->exports("__msan_init")) return "";
  return "it is compiled with -fsanitize=memory, which takes what libraries write for bytes that "
         "nobody wrote; record a build without it";
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
  const std::string complaint = ask_by_reading(program.path, program.loader).refusal;
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
