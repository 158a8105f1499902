// Writes what is gathered whenever it has become long.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/outside/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace vramscope {

Output::Output(std::string path)
    : path_(std::move(path)),
      file_(path_.empty() ? STDOUT_FILENO
                          : ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) error_ = errno;
}

Output::~Output() {
  if (file_ > STDOUT_FILENO) ::close(file_);
}

Output& Output::operator<<(std::string_view text) {
  text_ += text;
  flush_if_long();
  return *this;
}

void Output::flush_if_long() {
  constexpr std::size_t kLong = std::size_t{1} << 20;
  if (text_.size() >= kLong) flush();
}

void Output::flush() {
  std::string_view rest = text_;
  while (!rest.empty() && error_ == 0) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) error_ = errno;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  text_.clear();
}

std::string Output::end() {
  flush();
  if (file_ > STDOUT_FILENO && ::close(std::exchange(file_, -1)) != 0 && error_ == 0) {
    error_ = errno;
  }
  if (error_ == 0) return "";
  const std::string name = path_.empty() ? "to standard output" : "'" + path_ + "'";
  return "cannot write " + name + ": " + std::strerror(error_);
}

}  // namespace vramscope
