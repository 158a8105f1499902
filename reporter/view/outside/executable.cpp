// Reads headers of ELF files, and what a loader says of them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/outside/executable.h"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

namespace vramscope {
namespace {

constexpr std::size_t kMostHeaders = 128;
constexpr std::size_t kMostPath = 4096;
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

template <class T>
bool read_at(int file, std::uint64_t offset, T& value) {
  return pread(file, &value, sizeof value, static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(sizeof value);
}

// The name in the segment that asks for a loader.
std::string loader_of(int file, const Elf64_Ehdr& head) {
  for (std::size_t i = 0; i < head.e_phnum && i < kMostHeaders; ++i) {
    Elf64_Phdr segment{};
    if (!read_at(file, head.e_phoff + i * sizeof segment, segment)) return "";
    if (segment.p_type != PT_INTERP || segment.p_filesz > kMostPath) continue;
    std::string name(segment.p_filesz, '\0');
    if (pread(file, name.data(), name.size(), static_cast<off_t>(segment.p_offset)) < 0) return "";
    return name.c_str();  // up to its end
  }
  return "";
}

void read_head(int file, Executable& program) {
  Elf64_Ehdr head{};
  if (!read_at(file, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return;
  program.elf = true;
  program.narrow = head.e_ident[EI_CLASS] == ELFCLASS32 && head.e_machine == EM_386;
  program.native = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == EM_X86_64;
  if (program.native) program.loader = loader_of(file, head);
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
  const int file = program.path.empty() ? -1 : open(program.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return program;
  read_head(file, program);
  close(file);
  return program;
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
  if (!program.native) return "the program is not for x86-64";
  if (program.loader.empty()) return "the program is linked statically: nothing can be preloaded";
  if (status != kRefused) return "";
  const char* const loader = program.loader.c_str();
  const std::string complaint =
      loader_complaint(output_of({loader, "--list", program.path.c_str(), nullptr}));
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
