// Engine is one queue of asynchronous work and the thread that does it, on which a stream runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace vramscope::simulator {

class Engine;

// A moment in an engine's order, which is reached when that many pieces of its work are done.
struct Point {
  std::shared_ptr<Engine> engine;
  std::uint64_t number = 0;

  [[nodiscard]] bool reached() const;
  void wait() const;
  void wait_cancellably() const;  // a cancellation point while it waits
};

// Does pieces of work in order. The thread starts with the first piece, has all signals blocked,
// and ends when the engine is closed and idle. Threads: any. Code that makes pieces wait for each
// other's points must order the submissions.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  using Work = std::function<void()>;

  explicit Engine(std::uint64_t delay_us) : delay_us_(delay_us) {}

  Point submit(Work work, std::vector<Point> after);
  [[nodiscard]] Point tail();
  void close();

 private:
  friend struct Point;
  struct Piece {
    Work work;
    std::vector<Point> after;
  };

  void start();
  void run();

  const std::uint64_t delay_us_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::deque<Piece> queue_;
  std::uint64_t submitted_ = 0;
  std::uint64_t done_ = 0;
  bool started_ = false;
  bool closed_ = false;
};

}  // namespace vramscope::simulator
