// remove_own_file() takes the name of a file away that is known to be ours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

namespace vramscope {

// Which file it is, of one that this process made (O_EXCL), taken while it was open.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;  // 0: of none
  [[nodiscard]] bool operator==(const FileIdentity&) const = default;
};
// Of an open file; of none where that cannot be told, and errno tells why.
[[nodiscard]] inline FileIdentity identity_of(int file) noexcept {
  struct stat found {};
  return fstat(file, &found) == 0 ? FileIdentity{found.st_dev, found.st_ino} : FileIdentity{};
}

// Whether the name, looked for in the open folder, leads to that plain file; no link is followed.
[[nodiscard]] inline bool is_named(int folder, const char* name, const FileIdentity& own) noexcept {
  struct stat found {};
  return own.inode != 0 && fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(found.st_mode) && FileIdentity{found.st_dev, found.st_ino} == own;
}

// What nobody else can have made or opened, and no other name leads to: a plain file of the calling
// user's, of mode 0600.
[[nodiscard]] inline bool is_as_we_make(const struct stat& found) noexcept {
  return S_ISREG(found.st_mode) && found.st_uid == geteuid() && found.st_nlink == 1 &&
         (found.st_mode & 07777U) == (S_IRUSR | S_IWUSR);
}

// Nothing else that has its name by now is removed: who can change the folder in that instant could
// remove it himself. True: the name was taken away. `name` is looked for in the open folder.
inline bool remove_own_file(int folder, const char* name, const FileIdentity& own) noexcept {
  return is_named(folder, name, own) && unlinkat(folder, name, 0) == 0;
}

// The same in the folder that the path `place` leads to now ("": the root), and which stays the
// same while this looks: the way to it may change meanwhile.
inline bool remove_own_file(const char* place, const char* name, const FileIdentity& own) noexcept {
  const int folder = open(*place == '\0' ? "/" : place, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const bool done = remove_own_file(folder, name, own);
  close(folder);
  return done;
}
// The folder is in `path`. Takes 4 KiB of the stack, and no memory.
inline bool remove_own_file(const std::string& path, const FileIdentity& own) noexcept {
  std::array<char, 4096> place{'.'};  // no path is longer
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return remove_own_file(place.data(), path.c_str(), own);
  if (slash >= place.size()) return false;
  place[path.copy(place.data(), slash)] = '\0';
  return remove_own_file(place.data(), path.c_str() + slash + 1, own);
}

}  // namespace vramscope
