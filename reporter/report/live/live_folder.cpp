// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_folder.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

namespace vramscope {

std::vector<std::string> live_folders(std::string_view runtime_folder) {
  const std::string name = "/vramscope-" + std::to_string(geteuid());
  std::vector<std::string> folders{"/dev/shm" + name};
  if (runtime_folder.starts_with('/')) folders.push_back(std::string(runtime_folder) + name);
  return folders;
}

// Once it is private nobody but the user and root can change that.
int why_not_private(const std::string& folder) noexcept {
  struct stat found {};
  if (lstat(folder.c_str(), &found) != 0) return errno;
  if (S_ISLNK(found.st_mode)) return ELOOP;
  if (!S_ISDIR(found.st_mode)) return ENOTDIR;
  const bool is_private = found.st_uid == geteuid() && (found.st_mode & 077U) == 0;
  return is_private ? 0 : EPERM;
}

int make_private_folder(const std::string& folder) noexcept {
  if (mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return errno;
  if (const int problem = why_not_private(folder); problem != 0) return problem;
  struct statfs system {};
  if (statfs(folder.c_str(), &system) != 0) return errno;
  return system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC ? 0 : ENOTSUP;
}

}  // namespace vramscope
