// Addresses to serve at, and clients that do not read.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "reporter/view/system/listening_socket.h"

namespace vramscope {
namespace {

TEST(ServerAddress, IsAPortAndMayHaveAnAddress) {
  const std::pair<const char*, const char*> kGood[] = {{"9847", "127.0.0.1:9847"},
                                                       {"0", "127.0.0.1:0"},
                                                       {":80", ""},
                                                       {"0.0.0.0:9847", "0.0.0.0:9847"},
                                                       {"[::1]:9847", "[::1]:9847"},
                                                       {"localhost:1", "127.0.0.1:1"},
                                                       {"10.0.0.1:65535", "10.0.0.1:65535"}};
  for (const auto& [text, expected] : kGood) {
    const auto found = server_address(text);

    EXPECT_EQ(found ? text_of(*found) : "", expected) << text;
  }
}

TEST(ServerAddress, TellsWhetherOnlyThisMachineReachesIt) {
  for (const char* const text : {"127.0.0.1", "127.8.8.8", "::1"}) {
    EXPECT_TRUE(is_loopback({.address = text})) << text;
  }
  for (const char* const text : {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "fe80::1"}) {
    EXPECT_FALSE(is_loopback({.address = text})) << text;
  }
}

TEST(ServerAddress, OtherTextsAreNone) {
  for (const char* const text :
       {"", ":", "x", "65536", "-1", "80 ", " 80", "1.2.3:80", "::1", "::1:80", "[::1]", "[::1:80",
        "example.org:80", "0x50", "80:80", "127.0.0.1:"}) {
    EXPECT_FALSE(server_address(text)) << text;
  }
}

TEST(ListeningSocket, TellsThePortThatTheSystemChose) {
  const ListeningSocket one({});
  const ListeningSocket other({.port = one.address().port});

  EXPECT_EQ(one.problem(), "");
  EXPECT_NE(one.address().port, 0);
  EXPECT_EQ(other.problem(), "cannot serve at " + text_of(one.address()) +
                                 ": Address already in use (another program serves there; port 0 "
                                 "is a free one)");
}

constexpr std::size_t kBodyBytes = std::size_t{16} << 20;

// A server in a process of its own, whose answers are large, and of "/bad" an exception.
class Server {
 public:
  Server() : socket_({}) {
    pid_ = fork();
    if (pid_ != 0) return;
    std::signal(SIGPIPE, SIG_IGN);
    const auto body = std::make_shared<const std::string>(kBodyBytes, 'x');
    const HttpService service{.answer = [&](const HttpRequest& request) -> HttpAnswer {
      if (request.path == "/bad") throw std::runtime_error("it is bad");
      return {.body = body};
    }};
    _exit(serve_http(socket_.number(), service, -1).empty() ? 0 : 1);
  }
  ~Server() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // A client that has asked. small: it has little space for what it does not read.
  [[nodiscard]] int ask(const std::string& path, bool small = false) const {
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    const int bytes = 4096;
    if (small) setsockopt(client, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(socket_.address().port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    const std::string text = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(send(client, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return client;
  }

  [[nodiscard]] std::size_t memory_bytes() const {
    std::size_t all = 0;
    std::size_t resident = 0;
    std::ifstream("/proc/" + std::to_string(pid_) + "/statm") >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }

 private:
  ListeningSocket socket_;
  pid_t pid_ = -1;
};

std::string read_all(int client) {
  std::string text;
  std::vector<char> part(65536);
  for (ssize_t got = 0; (got = recv(client, part.data(), part.size(), 0)) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(client);
  return text;
}

TEST(HttpServer, ClientsThatDoNotReadShareOneAnswerAndAreDropped) {
  if (!why_no_server().empty()) GTEST_SKIP() << why_no_server();
  const Server server;
  ASSERT_GT(read_all(server.ask("/")).size(), kBodyBytes);
  const std::size_t before = server.memory_bytes();

  std::vector<int> deaf;
  for (int i = 0; i < 100; ++i) deaf.push_back(server.ask("/", true));
  const std::size_t whole = read_all(server.ask("/")).size();

  EXPECT_GT(whole, kBodyBytes);
  EXPECT_LT(server.memory_bytes(), before + 2 * kBodyBytes);
  for (const int client : deaf) {
    pollfd waited{.fd = client, .events = POLLRDHUP, .revents = 0};
    ASSERT_EQ(poll(&waited, 1, 60'000), 1);
    close(client);
  }
}

TEST(HttpServer, AnExceptionIsAnAnswer) {
  if (!why_no_server().empty()) GTEST_SKIP() << why_no_server();
  const Server server;

  const std::string text = read_all(server.ask("/bad"));

  EXPECT_EQ(text.substr(0, text.find('\r')), "HTTP/1.1 500 Internal Server Error");
  EXPECT_TRUE(text.ends_with("\r\n\r\nit is bad\n")) << text;
}

}  // namespace
}  // namespace vramscope
