// StandardFilesTaken and why_not_beside() keep a new file off other people's numbers and names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace vramscope {

// A program may have closed its standard files and still print, from any thread: not into our file.
// While this lives those numbers are taken by descriptors that nobody can write to, so that
// printing fails as it does without us.
class StandardFilesTaken {
 public:
  StandardFilesTaken() noexcept {
    for (int& descriptor : taken_) {
      descriptor = ::open("/", O_PATH | O_CLOEXEC);
      if (descriptor > STDERR_FILENO || descriptor < 0) break;
    }
  }
  ~StandardFilesTaken() {
    for (const int descriptor : taken_) {
      if (descriptor >= 0) close(descriptor);
    }
  }
  StandardFilesTaken(const StandardFilesTaken&) = delete;
  StandardFilesTaken& operator=(const StandardFilesTaken&) = delete;

 private:
  std::array<int, STDERR_FILENO + 2> taken_{-1, -1, -1, -1};
};

// 0, or the error with which a file is refused that would lie beside what has its name: a folder
// (EISDIR), a device, a pipe or a link to one of them (ENOTSUP). A regular file only takes the
// name.
[[nodiscard]] inline int why_not_beside(const char* path) noexcept {
  struct stat there {};
  if (::stat(path, &there) != 0 || S_ISREG(there.st_mode)) return 0;
  return S_ISDIR(there.st_mode) ? EISDIR : ENOTSUP;
}

}  // namespace vramscope
