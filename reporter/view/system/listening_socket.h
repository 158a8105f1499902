// ListeningSocket is where a server waits for clients: a TCP port of an address of this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramscope {

struct ServerAddress {
  std::string address = "127.0.0.1";  // IPv4 or IPv6, in numbers
  std::uint16_t port = 0;             // 0: the system chooses one
};

// Parses "[ADDRESS:]PORT": "9847", "0.0.0.0:9847", "[::1]:9847", "localhost:9847". Returns nothing
// if the text is none.
[[nodiscard]] std::optional<ServerAddress> server_address(std::string_view text);

// Returns whether only this machine reaches the address.
[[nodiscard]] bool is_loopback(const ServerAddress& address);

// Returns "127.0.0.1:9847", or "[::1]:9847".
[[nodiscard]] std::string text_of(const ServerAddress& address);

// The socket is closed on exec. Threads: one.
class ListeningSocket {
 public:
  explicit ListeningSocket(const ServerAddress& wish);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  // Returns "" or why nobody can be served there, in one line.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] int number() const { return number_; }
  // Returns the address with the port that the system chose.
  [[nodiscard]] const ServerAddress& address() const { return address_; }

 private:
  void listen_at(const void* name, unsigned bytes);

  ServerAddress address_;
  std::string problem_;
  int number_ = -1;
};

}  // namespace vramscope
