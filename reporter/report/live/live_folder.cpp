// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_folder.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace vramscope {
namespace {

// After sudo -E the variable names another user's folder: root must not use that one, nor the
// reverse.
bool is_for_runtime(const std::string& folder) {
  struct stat found {};
  return folder.starts_with('/') && stat(folder.c_str(), &found) == 0 &&
         found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int why_not_private(const struct stat& found) noexcept {
  if (S_ISLNK(found.st_mode)) return ELOOP;
  if (!S_ISDIR(found.st_mode)) return ENOTDIR;
  return found.st_uid == geteuid() && (found.st_mode & 077U) == 0 ? 0 : EPERM;
}

}  // namespace

std::vector<std::string> live_folders(std::string_view runtime_folder) {
  const std::string name = "/vramscope-" + std::to_string(geteuid());
  std::vector<std::string> folders{"/dev/shm" + name};
  const std::string other(runtime_folder);
  if (is_for_runtime(other)) folders.push_back(other + name);
  return folders;
}

std::vector<std::string> live_folders_of_environment() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  return live_folders(runtime == nullptr ? "" : runtime);
}

// Once the folder is private, only the user and root can change that.
int why_not_private(const std::string& folder) noexcept {
  struct stat found {};
  return lstat(folder.c_str(), &found) != 0 ? errno : why_not_private(found);
}

int make_private_folder(const std::string& folder) noexcept {
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return errno;
  if (const int problem = why_not_private(folder); problem != 0) return problem;
  struct statfs system {};
  if (statfs(folder.c_str(), &system) != 0) return errno;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC ? 0 : ENOTSUP;
}

int open_private_folder(const std::string& folder) noexcept {
  if (const int problem = make_private_folder(folder); problem != 0) return -problem;
  const int opened = open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat found {};
  int problem = opened < 0 || fstat(opened, &found) != 0 ? errno : why_not_private(found);
  if (problem == 0) return opened;
  if (opened >= 0) close(opened);
  return -problem;
}

std::optional<sockaddr_un> socket_in(int folder, const std::string& name) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int length = std::snprintf(address.sun_path, sizeof address.sun_path,
                                   "/proc/thread-self/fd/%d/%s", folder, name.c_str());
  const bool fits = length >= 0 && static_cast<std::size_t>(length) < sizeof address.sun_path;
  return fits ? std::optional(address) : std::nullopt;
}

}  // namespace vramscope
