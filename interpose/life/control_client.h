// ControlClient is one connection to the control socket: it reads requests and sends answers, and
// never waits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "interpose/life/own_socket.h"

namespace vramscope {

// What is sent for one request, made a piece at a time.
class ControlAnswer {
 public:
  enum class Next : std::uint8_t {
    more,   // there is more, at once
    later,  // something must happen first: ask again
    done    // that was the last piece
  };
  virtual ~ControlAnswer() = default;
  // Adds the next piece to `text`: some KiB at most. May throw bad_alloc.
  [[nodiscard]] virtual Next next(std::string& text) = 0;
};

// An answer that is known at once.
class ControlText final : public ControlAnswer {
 public:
  explicit ControlText(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] Next next(std::string& text) override {
    text += text_;
    return Next::done;
  }

 private:
  std::string text_;
};

// Makes the answer to the line of a request. Never null. May throw bad_alloc.
struct ControlHandler {
  std::unique_ptr<ControlAnswer> (*begin)(void* context, std::string_view line) = nullptr;
  void* context = nullptr;
};

// Threads: the helper.
class ControlClient {
 public:
  static constexpr std::uint64_t kPatienceNs = 2'000'000'000;  // with a client that does nothing

  // Takes over a connection that does not block. Returns false if that failed.
  [[nodiscard]] bool begin(int socket, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool is_connected() noexcept { return socket_.number() >= 0; }
  [[nodiscard]] OwnSocket& socket() noexcept { return socket_; }
  // Returns the events of poll() for which it waits, if any.
  [[nodiscard]] short wanted() const noexcept;
  // Whether it has more to send at once.
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }
  // Whether the program must do something before it goes on.
  [[nodiscard]] bool awaits_program() const noexcept { return answer_ != nullptr && !is_busy_; }
  // Reads, answers and sends what is possible now. May throw bad_alloc; then the client must be
  // dropped.
  void serve(const ControlHandler& handler, std::uint64_t now_ns);
  // Sends a line, if that is possible at once, and ends the connection.
  void refuse(std::string_view line) noexcept;
  void drop() noexcept;

 private:
  void read(std::uint64_t now_ns);
  void take_request(const ControlHandler& handler);
  void answer(std::uint64_t now_ns);
  void send(std::uint64_t now_ns);
  void end_after(std::string line);
  void lose_patience(std::uint64_t now_ns);

  OwnSocket socket_;
  std::string received_;
  std::string unsent_;
  std::size_t sent_ = 0;  // bytes at the beginning of `unsent_` that are gone
  std::unique_ptr<ControlAnswer> answer_;
  bool is_busy_ = false;        // the next piece of the answer is there
  bool is_last_ = false;        // the connection ends when `unsent_` is sent
  bool is_closed_ = false;      // the client sends no more
  std::uint64_t moved_ns_ = 0;  // when the client last read, sent or waited for us
};

}  // namespace vramscope
