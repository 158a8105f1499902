// Reads whole files, pipes included, within a limit.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "reporter/report/files/descriptor.h"

namespace vramscope {

namespace {

constexpr std::size_t kChunk = 1 << 16;
constexpr std::size_t kLargest = std::size_t{4} << 30;  // 30 million blocks

// -1: errno tells. 0: end of file. Waits for a pipe's writer; without one there is nothing to wait
// for and the file ends.
ssize_t append_chunk(int descriptor, std::string& text) {
  const std::size_t used = text.size();
  text.resize(used + kChunk);
  ssize_t count = -1;
  do {
    count = read(descriptor, text.data() + used, kChunk);
    if (count < 0 && errno == EAGAIN && fcntl(descriptor, F_SETFL, 0) == 0) errno = EINTR;
  } while (count < 0 && errno == EINTR);
  text.resize(used + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count;
}

// Looked at before more is read: the file may be /dev/zero, or a disk image.
std::string wrong_beginning(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string::npos && text[first] == '{') return {};
  return "byte " + std::to_string(std::min(first, text.size()) + 1) +
         ": expected a report, which begins with '{'";
}

}  // namespace

InputFile read_file(const std::string& path) {
  const Descriptor file(path, O_NONBLOCK);  // nobody may be at the other end of a FIFO
  InputFile result;
  if (file.number() < 0) return {.text = {}, .problem = reason_of_errno()};
  struct stat status {};
  const bool known = fstat(file.number(), &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    result.text.reserve(std::min(static_cast<std::size_t>(status.st_size) + kChunk, kLargest));
  }
  for (ssize_t count = 1; count > 0 && result.problem.empty();) {
    count = append_chunk(file.number(), result.text);
    if (count < 0) {
      result.problem = reason_of_errno();
    } else if (result.text.size() > kLargest) {
      result.problem = "byte " + std::to_string(kLargest) + ": expected a smaller file";
    } else if (count == 0 && result.text.empty() && known && S_ISFIFO(status.st_mode)) {
      result.problem = "byte 1: expected a report, but this is a pipe to which nobody writes";
    } else if (count == 0 || result.text.size() <= kChunk) {
      result.problem = wrong_beginning(result.text);
    }
  }
  return result;
}

}  // namespace vramscope
