// remove_own_file() takes the name of a file away that is known to be ours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace vramscope {

// `device` and `inode`: of a file that this process made and had open (O_EXCL). Nothing else that
// has its name by now is removed: who can change the folder in that instant could remove it
// himself. True: the name was taken away. A relative `name` is looked for in the open folder.
inline bool remove_own_file(int folder, const char* name, dev_t device, ino_t inode) noexcept {
  struct stat found {};
  return fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode) &&
         found.st_dev == device && found.st_ino == inode && unlinkat(folder, name, 0) == 0;
}

// The same in the folder that the path `place` leads to now ("": the root), and which stays the
// same while this looks: the way to it may change meanwhile.
inline bool remove_own_file(const char* place, const char* name, dev_t device,
                            ino_t inode) noexcept {
  const int folder = open(*place == '\0' ? "/" : place, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const bool done = remove_own_file(folder, name, device, inode);
  close(folder);
  return done;
}
// `path`: absolute. May throw bad_alloc.
inline bool remove_own_file(const std::string& path, dev_t device, ino_t inode) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return false;
  return remove_own_file(path.substr(0, slash).c_str(), path.c_str() + slash + 1, device, inode);
}

}  // namespace vramscope
