// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/control_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <exception>
#include <optional>

#include "allocator/base/kept_errno.h"
#include "allocator/base/nap.h"
#include "allocator/base/standard_files.h"
#include "interpose/base/clock.h"
#include "reporter/report/live/control_protocol.h"
#include "reporter/report/live/live_folder.h"

namespace vramscope {
namespace {

constexpr int kMostNames = 100;   // "~1" to "~99" are tried if a name is taken
constexpr int kMostPauses = 100;  // while threads fork
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
constexpr int kMostWaiting = 64;    // connections that nobody has accepted yet
constexpr int kAcceptsAtOnce = 64;  // before the helper's own work has a turn

int bind_in(int folder, const std::string& name, int socket) noexcept {
  const std::optional<sockaddr_un> address = socket_in(folder, name);
  if (!address) return ENAMETOOLONG;
  const auto* const to = reinterpret_cast<const sockaddr*>(&*address);
  if (bind(socket, to, sizeof *address) != 0) return errno;
  return fchmodat(folder, name.c_str(), S_IRUSR | S_IWUSR, 0) == 0 ? 0 : errno;
}

FileIdentity socket_at(int folder, const char* name) noexcept {
  struct stat found {};
  if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(found.st_mode)) {
    return {};
  }
  return {found.st_dev, found.st_ino};
}

// The user who may use the socket is the process's own, or root.
bool may_connect(int socket) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

}  // namespace

int ControlServer::open(std::string_view runtime_folder, const std::string& base) {
  close();
  int problem = ENOENT;
  for (const std::string& folder : live_folders(runtime_folder)) {
    problem = open_in(folder, base);
    for (int i = 0; i < kMostPauses && problem == EAGAIN; ++i) {
      nap(kPause);
      problem = open_in(folder, base);
    }
    if (problem == 0) return 0;
  }
  return problem;
}

int ControlServer::open_in(const std::string& folder, const std::string& base) {
  const NewSockets alone;
  if (!alone.holds()) return EAGAIN;
  const StandardFilesTaken above_them;
  const int opened = open_private_folder(folder);
  if (opened < 0) return -opened;
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int problem = made < 0 ? errno : EADDRINUSE;
  for (int i = 0; i < kMostNames && problem == EADDRINUSE; ++i) {
    const std::string name = base + (i == 0 ? "" : "~" + std::to_string(i));
    path_ = folder + "/" + name;
    problem = bind_in(opened, name, made);
    // Also of one whose mode could not be set, so that it goes.
    if (problem != EADDRINUSE) name_ = socket_at(opened, name.c_str());
  }
  ::close(opened);
  if (problem == 0 && listen(made, kMostWaiting) != 0) problem = errno;
  if (problem != 0) {
    if (made >= 0) ::close(made);
    remove_name();
    return problem;
  }
  used_ns_ = now_ns();
  if (listener_.take(made)) return 0;
  remove_name();
  return EMFILE;
}

bool ControlServer::is_open() noexcept {
  const KeptErrno kept;
  return listener_.number() >= 0 && name_.inode != 0 && socket_at(AT_FDCWD, path_.c_str()) == name_;
}

void ControlServer::remove_name() noexcept {
  const KeptErrno kept;
  if (name_.inode != 0 && socket_at(AT_FDCWD, path_.c_str()) == name_) unlink(path_.c_str());
}

void ControlServer::close() noexcept {
  for (ControlClient& one : clients_) one.drop();
  if (listener_.number() >= 0) remove_name();
  listener_.close();
  name_ = {};
}

void ControlServer::close_in_child() noexcept {
  for (ControlClient& one : clients_) one.socket().close_in_child();
  listener_.close_in_child();
}

bool ControlServer::serve(std::uint64_t limit_ns) noexcept {
  std::array<pollfd, kMostClients + 1> waited{};
  bool is_used = false;
  bool is_busy = false;
  for (std::size_t i = 0; i < kMostClients; ++i) {
    ControlClient& one = clients_[i];
    waited[i] = {.fd = one.socket().number(), .events = one.wanted(), .revents = 0};
    is_used = is_used || waited[i].fd >= 0;
    is_busy = is_busy || (waited[i].fd >= 0 && one.is_busy());
  }
  waited[kMostClients] = {.fd = listener_.number(), .events = POLLIN, .revents = 0};
  if (waited[kMostClients].fd < 0) return close(), false;
  const std::uint64_t wait_ns = is_busy ? 0 : limit_ns;
  const timespec limit{.tv_sec = static_cast<time_t>(wait_ns / 1'000'000'000U),
                       .tv_nsec = static_cast<long>(wait_ns % 1'000'000'000U)};
  static_cast<void>(ppoll(waited.data(), waited.size(), &limit, nullptr));
  const std::uint64_t now = now_ns();
  if (is_used) used_ns_ = now;
  serve_clients(waited.data(), now);
  if (waited[kMostClients].revents != 0 && !accept_all(now)) nap(kPause);
  if (now - used_ns_ < kLingerNs) return true;
  close();
  return false;
}

bool ControlServer::accept_all(std::uint64_t now_ns) noexcept {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    const NewSockets alone;
    if (!alone.holds()) return false;
    const StandardFilesTaken above_them;
    const int listener = listener_.number();
    if (listener < 0) return false;
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) return i > 0 || errno == EAGAIN;
    used_ns_ = now_ns;
    admit(socket, now_ns);
  }
  return true;
}

void ControlServer::admit(int socket, std::uint64_t now_ns) noexcept {
  const auto free =
      std::ranges::find_if(clients_, [](ControlClient& one) { return !one.is_connected(); });
  const bool may = may_connect(socket);
  if (free != clients_.end() && may) {
    static_cast<void>(free->begin(socket, now_ns));
    return;
  }
  ControlClient refused;
  if (!refused.begin(socket, now_ns)) return;
  try {
    refused.refuse(may ? failure_line("8 clients are connected already; try again", Failure::busy)
                       : failure_line("the program belongs to another user"));
  } catch (const std::exception&) {  // no memory for the line
    refused.drop();
  }
}

// Who has left while the program had to do something gets no answer.
void ControlServer::serve_clients(const pollfd* waited, std::uint64_t now_ns) noexcept {
  for (std::size_t i = 0; i < kMostClients; ++i) {
    ControlClient& one = clients_[i];
    if (!one.is_connected()) one.drop();  // the program closed it: its answer goes, too
    if (waited[i].fd < 0 || !one.is_connected()) continue;
    const bool has_left = (waited[i].revents & (POLLHUP | POLLERR)) != 0;
    if (has_left && one.awaits_program()) {
      one.drop();
      continue;
    }
    try {
      one.serve(handler_, now_ns);
    } catch (const std::exception&) {  // no memory
      one.drop();
    }
  }
}

}  // namespace vramscope
