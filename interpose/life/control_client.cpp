// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/control_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "reporter/report/live/control_protocol.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostUnsent = std::size_t{64} << 10;
constexpr int kPiecesAtOnce = 64;  // before other clients and the helper's own work have a turn

bool is_for_later() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

bool ControlClient::begin(int socket, std::uint64_t now_ns) noexcept {
  received_.clear();
  unsent_.clear();
  sent_ = 0;
  answer_.reset();
  is_busy_ = is_last_ = is_closed_ = false;
  moved_ns_ = now_ns;
  return socket_.take(socket);
}

void ControlClient::drop() noexcept {
  socket_.close();
  answer_.reset();
}

short ControlClient::wanted() const noexcept {
  if (sent_ < unsent_.size()) return POLLOUT;
  return answer_ == nullptr && !is_closed_ ? POLLIN : 0;
}

void ControlClient::refuse(std::string_view line) noexcept {
  if (const int ours = socket_.number(); ours >= 0) {
    static_cast<void>(::send(ours, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
  drop();
}

void ControlClient::serve(const ControlHandler& handler, std::uint64_t now_ns) {
  if (answer_ == nullptr && !is_last_) read(now_ns);
  if (answer_ == nullptr && !is_last_) take_request(handler);
  if (is_connected()) answer(now_ns);
  if (is_connected()) lose_patience(now_ns);
}

// One byte more than a request may have is enough to know that it is too long.
void ControlClient::read(std::uint64_t now_ns) {
  std::array<char, kMostRequestBytes + 1> part;
  const int ours = socket_.number();
  if (ours < 0 || is_closed_ || received_.size() > kMostRequestBytes) return;
  const ssize_t got =
      recv(ours, part.data(), part.size() - received_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (got > 0) {
    moved_ns_ = now_ns;
    received_.append(part.data(), static_cast<std::size_t>(got));
  } else if (got == 0) {
    is_closed_ = true;
  } else if (!is_for_later()) {
    drop();
  }
}

void ControlClient::take_request(const ControlHandler& handler) {
  if (!is_connected()) return;
  const std::size_t end = received_.find('\n');
  if (end != received_.npos && end < kMostRequestBytes) {
    answer_ = handler.begin(handler.context, std::string_view(received_).substr(0, end));
    received_.erase(0, end + 1);
  } else if (received_.size() >= kMostRequestBytes) {
    end_after("a request is a line of at most " + std::to_string(kMostRequestBytes) + " bytes");
  } else if (is_closed_) {
    received_.empty() ? drop() : end_after("the request has no end of line");
  }
}

void ControlClient::answer(std::uint64_t now_ns) {
  for (int i = 0; i < kPiecesAtOnce && is_connected(); ++i) {
    auto next = ControlAnswer::Next::later;
    if (answer_ != nullptr && unsent_.size() - sent_ < kMostUnsent) {
      if (sent_ == unsent_.size()) unsent_.clear(), sent_ = 0;
      next = answer_->next(unsent_);
      if (next == ControlAnswer::Next::done) answer_.reset();
      if (next == ControlAnswer::Next::later) moved_ns_ = now_ns;  // it waits for us
    }
    send(now_ns);
    is_busy_ = next == ControlAnswer::Next::more && sent_ == unsent_.size();
    if (!is_busy_) return;
  }
}

void ControlClient::send(std::uint64_t now_ns) {
  const int ours = socket_.number();
  if (ours < 0) return;
  if (sent_ < unsent_.size()) {
    const ssize_t gone =
        ::send(ours, unsent_.data() + sent_, unsent_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (gone < 0 && !is_for_later()) return drop();
    if (gone > 0) {
      sent_ += static_cast<std::size_t>(gone);
      moved_ns_ = now_ns;
      if (sent_ >= kMostUnsent) unsent_.erase(0, std::exchange(sent_, 0));
    }
  }
  if (is_last_ && sent_ == unsent_.size()) drop();
}

void ControlClient::end_after(std::string line) {
  unsent_ += failure_line(line);
  received_.clear();
  is_last_ = true;
}

void ControlClient::lose_patience(std::uint64_t now_ns) {
  if (now_ns - moved_ns_ < kPatienceNs) return;
  if (is_last_ || received_.empty() || sent_ < unsent_.size()) return drop();
  refuse(failure_line("the rest of the request did not come within 2 s"));
}

}  // namespace vramscope
