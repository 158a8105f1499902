// OwnSocket is a socket of ours among the descriptors of the program, which may close any of them
// and get the number for something else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "allocator/base/own_file.h"

namespace vramscope {

// Threads: the helper; close_in_child(): that of a forked child.
class OwnSocket {
 public:
  OwnSocket() = default;
  OwnSocket(const OwnSocket&) = delete;
  OwnSocket& operator=(const OwnSocket&) = delete;

  // Takes a socket over, under a high number, so that the program gets the numbers that it would
  // get without us. Returns false if there is no number left; then the socket is closed.
  [[nodiscard]] bool take(int socket) noexcept;
  // Returns the number, or -1 if there is no socket, or the program has closed it. Keeps errno.
  [[nodiscard]] int number() noexcept;
  // Ends the connection, also for copies in forked children, and closes the socket if it is ours.
  void close() noexcept;
  // Closes the copy of a forked child. The connection goes on.
  void close_in_child() noexcept;

 private:
  std::atomic<int> number_{-1};
  FileIdentity own_;
};

}  // namespace vramscope
