// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/control_call.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

#include "reporter/report/files/descriptor.h"
#include "reporter/view/system/control_bell.h"

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kMeanwhile{20};  // before another attempt
constexpr std::chrono::seconds kMostTurn{10};        // until it is this client's turn
constexpr std::chrono::milliseconds kSilence{10'000};
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of an answer

// Where this process sees the socket: the process may be in a container.
std::string seen_from_here(const RunningProcess& process, const std::string& path) {
  const std::string root = "/proc/" + std::to_string(process.pid) + "/root";
  return process.live_file.starts_with(root + "/") ? root + path : path;
}

// Connects without a limit on the length of the path. Returns 0 or errno.
int connect_to(int socket, const std::string& path) {
  const Descriptor file(path, O_PATH | O_NOFOLLOW);
  struct stat found {};
  if (file.number() < 0 || fstat(file.number(), &found) != 0) return errno;
  if (!S_ISSOCK(found.st_mode)) return ENOTSOCK;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", file.number());
  const auto* const to = reinterpret_cast<const sockaddr*>(&address);
  const timeval limit{.tv_sec = std::chrono::seconds(kMostTurn).count(), .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return connect(socket, to, sizeof address) == 0 ? 0 : errno;
}

// Whoever listens must be that very process.
bool is_of(int socket, const RunningProcess& process) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid == process.pid;
}

// Waits until the socket is ready, or until the time is up.
bool await(int socket, short events, std::chrono::milliseconds limit) {
  pollfd waited{.fd = socket, .events = events, .revents = 0};
  const Clock::time_point end = Clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() < 0) return false;
    if (poll(&waited, 1, static_cast<int>(left.count()) + 1) > 0) return true;
  }
}

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    if (!await(socket, POLLOUT, kSilence)) return false;
    const ssize_t gone = send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (gone < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (gone > 0) text.remove_prefix(static_cast<std::size_t>(gone));
  }
  return true;
}

// Reads lines up to the last one of an answer. Returns false if that does not come.
bool receive(int socket, std::chrono::milliseconds limit, ControlOutcome& outcome) {
  std::array<char, std::size_t{1} << 16> part;
  std::string text;
  for (std::size_t bytes = 0; bytes < kMostBytes && await(socket, POLLIN, limit);) {
    const ssize_t got = recv(socket, part.data(), part.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return false;
    bytes += static_cast<std::size_t>(got);
    text.append(part.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      std::string line = text.substr(begin, end - begin);
      if (is_last_line(line)) return outcome.reply = read_reply(line), true;
      outcome.parts.push_back(std::move(line));
    }
    text.erase(0, begin);
  }
  return false;
}

// One attempt. Returns false if it may be made again: the socket has just closed, or others are
// served. Then `outcome` has the reason.
bool talk(const RunningProcess& process, const ControlRequest& request, ControlBell& bell,
          ControlOutcome& outcome) {
  outcome = {};
  outcome.unreachable = bell.ring();
  if (!outcome.unreachable.empty()) return true;
  const Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int problem = connect_to(connection.number(), seen_from_here(process, bell.path()));
  if (problem != 0) {
    outcome.unreachable = "cannot connect to '" + bell.path() + "': " + std::strerror(problem);
    return problem != ECONNREFUSED && problem != ENOENT;
  }
  if (!is_of(connection.number(), process)) {
    outcome.unreachable =
        "the socket '" + bell.path() + "' is not that of process " + std::to_string(process.pid);
    return true;
  }
  // Who is refused gets the reason before the request is read.
  const auto limit = kSilence + std::chrono::milliseconds(request.wait_ms);
  const bool is_sent = send_all(connection.number(), line_of(request));
  if (receive(connection.number(), limit, outcome)) return !outcome.reply.busy;
  outcome.reply = {.error = is_sent ? "it did not finish its answer" : "it took no request"};
  return true;
}

}  // namespace

ControlOutcome call_program(const RunningProcess& process, const ControlRequest& request) {
  const Clock::time_point begun = Clock::now();
  ControlBell bell(process);
  ControlOutcome outcome;
  while (!talk(process, request, bell, outcome) && Clock::now() - begun < kMostTurn) {
    std::this_thread::sleep_for(kMeanwhile);
  }
  return outcome;
}

}  // namespace vramscope
