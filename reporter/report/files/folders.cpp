// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/folders.h"

#include <sys/stat.h>

#include <cerrno>

namespace vramscope {

int make_folders_of(const std::string& path) {
  constexpr mode_t kAll = S_IRWXU | S_IRWXG | S_IRWXO;  // less what the process's umask takes
  for (std::size_t slash = path.find('/', 1); slash != path.npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), kAll) == 0 || errno == EEXIST) continue;
    const int error = errno;
    struct stat found {};  // a folder above it may be of others, and of a system that is read only
    if (::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return error;
  }
  return 0;
}

}  // namespace vramscope
