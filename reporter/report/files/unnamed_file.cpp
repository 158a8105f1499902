// Uses O_TMPFILE, or a name that is removed at once.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/unnamed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace vramscope {

int unnamed_file(const std::string& folder) {
  const char* const place = folder.empty() ? "." : folder.c_str();
  const int file = open(place, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  // These are the errors of file systems and systems without O_TMPFILE; they try to open a folder.
  const bool is_missing = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
  if (file >= 0 || !is_missing) return file;
  std::string name = (folder.empty() ? "" : folder + "/") + ".vramscope-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());  // the file was made here, at this moment
  return named;
}

}  // namespace vramscope
