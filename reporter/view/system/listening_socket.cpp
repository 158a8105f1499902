// Addresses are numbers: a name would need a resolver, which may wait for the network.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/listening_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace vramscope {
namespace {

// What inet_pton() makes of an address: of IPv4 or of IPv6, else neither.
struct Numbers {
  in_addr four{};
  in6_addr six{};
  bool is_four = false;
  bool is_six = false;
};

Numbers numbers_of(const std::string& address) {
  Numbers numbers;
  numbers.is_four = inet_pton(AF_INET, address.c_str(), &numbers.four) == 1;
  numbers.is_six = !numbers.is_four && inet_pton(AF_INET6, address.c_str(), &numbers.six) == 1;
  return numbers;
}

// Who was started without standard input would get its number.
int above_standard(int socket) {
  if (socket < 0 || socket > STDERR_FILENO) return socket;
  const int other = fcntl(socket, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(socket);
  return other;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&name), &bytes) != 0) return 0;
  sockaddr_in six_or_four{};  // both have the port in the same place
  std::memcpy(&six_or_four, &name, sizeof six_or_four);
  return ntohs(six_or_four.sin_port);
}

}  // namespace

std::optional<ServerAddress> server_address(std::string_view text) {
  ServerAddress found;
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos) {
    std::string_view address = text.substr(0, colon);
    if (address.starts_with('[') && address.ends_with(']')) {
      address = address.substr(1, address.size() - 2);
    } else if (address.find(':') != address.npos) {
      return std::nullopt;  // IPv6 without brackets: which number is the port?
    }
    if (address != "localhost") found.address = address;
    text.remove_prefix(colon + 1);
  }
  const auto read = std::from_chars(text.data(), text.data() + text.size(), found.port);
  const bool is_port = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  const Numbers numbers = numbers_of(found.address);
  if (!is_port || (!numbers.is_four && !numbers.is_six)) return std::nullopt;
  return found;
}

bool is_loopback(const ServerAddress& address) {
  constexpr std::uint32_t kNetwork = 127;  // of IPv4
  const Numbers numbers = numbers_of(address.address);
  if (numbers.is_six) return IN6_IS_ADDR_LOOPBACK(&numbers.six);
  return numbers.is_four && ntohl(numbers.four.s_addr) >> 24 == kNetwork;
}

std::string text_of(const ServerAddress& address) {
  const bool is_six = address.address.find(':') != address.address.npos;
  return (is_six ? "[" + address.address + "]" : address.address) + ":" +
         std::to_string(address.port);
}

ListeningSocket::ListeningSocket(const ServerAddress& wish) : address_(wish) {
  const Numbers numbers = numbers_of(address_.address);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(address_.port);
  four.sin_addr = numbers.four;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(address_.port);
  six.sin6_addr = numbers.six;
  const int family = numbers.is_six ? AF_INET6 : AF_INET;
  number_ = above_standard(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (numbers.is_six) {
    listen_at(&six, sizeof six);
  } else {
    listen_at(&four, sizeof four);
  }
}

void ListeningSocket::listen_at(const void* name, unsigned bytes) {
  constexpr int kWaiting = 128;  // clients that the system keeps until they are served
  const int yes = 1;
  // What an ended server served a moment ago keeps no port.
  const bool is_there = number_ >= 0 &&
                        setsockopt(number_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                        bind(number_, static_cast<const sockaddr*>(name), bytes) == 0 &&
                        listen(number_, kWaiting) == 0;
  if (is_there) {
    address_.port = port_of(number_);
    return;
  }
  const int error = errno;
  problem_ = "cannot serve at " + text_of(address_) + ": " + std::strerror(error);
  if (error == EADDRNOTAVAIL) problem_ += " (it is no address of this machine)";
  if (error == EADDRINUSE) problem_ += " (another program serves there; port 0 is a free one)";
}

ListeningSocket::~ListeningSocket() {
  if (number_ >= 0) close(number_);
}

}  // namespace vramscope
