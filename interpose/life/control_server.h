// ControlServer is the control socket of this process and those who are connected to it. There is a
// socket only while somebody wants it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "interpose/life/control_client.h"

namespace vramscope {

// Threads: the helper; close_in_child(): that of a forked child.
class ControlServer {
 public:
  static constexpr std::size_t kMostClients = 8;
  static constexpr std::uint64_t kLingerNs = 2'000'000'000;  // after the last client has left

  explicit ControlServer(const ControlHandler& handler) : handler_(handler) {}

  // Makes the socket in the first private folder that can have it (mode 0600), and listens.
  // `runtime_folder`: as for live_folders(). `base`: what its name begins with. Returns 0, or errno
  // of the last folder. May throw bad_alloc.
  [[nodiscard]] int open(std::string_view runtime_folder, const std::string& base);
  // Returns whether it listens, under a name that nobody has taken away.
  [[nodiscard]] bool is_open() noexcept;
  // Returns its path.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Returns the inode number of its file.
  [[nodiscard]] std::uint64_t inode() const noexcept { return name_.inode; }
  // Serves clients for about `limit_ns`, and less if there is something to do. Closes the socket
  // when nobody has been connected for kLingerNs. Returns false if the socket is closed.
  bool serve(std::uint64_t limit_ns) noexcept;
  void close() noexcept;
  // Closes the copies of a forked child.
  void close_in_child() noexcept;

 private:
  [[nodiscard]] int open_in(const std::string& folder, const std::string& base);
  // Returns false if a connection waits that cannot be accepted now.
  [[nodiscard]] bool accept_all(std::uint64_t now_ns) noexcept;
  void admit(int socket, std::uint64_t now_ns) noexcept;
  void remove_name() noexcept;
  void serve_clients(const pollfd* waited, std::uint64_t now_ns) noexcept;

  const ControlHandler handler_;
  OwnSocket listener_;
  std::string path_;
  FileIdentity name_;  // of the socket's file
  std::array<ControlClient, kMostClients> clients_;
  std::uint64_t used_ns_ = 0;  // when somebody was connected last
};

}  // namespace vramscope
