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

// While it holds, fork() waits, so that no child gets a copy of a socket that nobody knows yet.
// Threads: the helper; the functions for forks: any.
class NewSockets {
 public:
  // Holds unless a thread forks now.
  NewSockets() noexcept;
  ~NewSockets();
  NewSockets(const NewSockets&) = delete;
  NewSockets& operator=(const NewSockets&) = delete;
  [[nodiscard]] bool holds() const noexcept { return holds_; }

  // Handlers of fork(). The first waits for some microseconds, and a tenth of a second at most.
  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;

 private:
  bool holds_ = false;
};

}  // namespace vramscope
