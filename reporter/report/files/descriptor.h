// Descriptor is a file that is open for reading, or the reason why it could not be opened.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace vramscope {

// Closes the file when destroyed. number() is -1 if it could not be opened; errno then has the
// reason.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path, int flags = 0)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags)) {}
  // Takes over a number, such as that of a socket, or -1.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  const int number_;
};

// Returns the text of errno.
[[nodiscard]] inline std::string reason_of_errno() {
  return std::generic_category().message(errno);
}

}  // namespace vramscope
