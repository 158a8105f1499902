// The worker loop behind a stream.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/engine.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace vramscope::simulator {
namespace {

constexpr int kMostTries = 100;

}  // namespace

bool Point::reached() const {
  if (!engine) return true;
  const std::lock_guard lock(engine->mutex_);
  return engine->done_ >= number;
}

void Point::wait() const {
  if (!engine) return;
  std::unique_lock lock(engine->mutex_);
  engine->changed_.wait(lock, [this] { return engine->done_ >= number; });
}

// std::condition_variable::wait is noexcept.
void Point::wait_cancellably() const {
  if (!engine) return;
  const std::lock_guard lock(engine->mutex_);
  while (engine->done_ < number) {
    pthread_cond_wait(engine->changed_.native_handle(), engine->mutex_.native_handle());
  }
}

Point Engine::submit(Work work, std::vector<Point> after) {
  std::unique_lock lock(mutex_);
  if (!started_) start();
  const std::uint64_t number = submitted_ + 1;
  if (!started_) {  // no thread is to be had: who submits does the work
    submitted_ = number;
    lock.unlock();
    for (const Point& point : after) point.wait();
    if (work) work();
    lock.lock();
    done_ = number;
    changed_.notify_all();
    return {shared_from_this(), number};
  }
  queue_.push_back({std::move(work), std::move(after)});
  changed_.notify_all();
  submitted_ = number;
  return {shared_from_this(), number};
}

Point Engine::tail() {
  const std::lock_guard lock(mutex_);
  return {shared_from_this(), submitted_};
}

void Engine::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Engine::start() {
  // The program's signal handlers run on the program's threads only.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto begin = [self = shared_from_this()] { self->run(); };
  for (int tries = 0; tries < kMostTries && !started_; ++tries) {
    try {
      std::thread(begin).detach();
      started_ = true;
    } catch (const std::system_error&) {  // none is made any more once another thread calls exec
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Engine::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) return;
    {
      const Piece piece = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      for (const Point& point : piece.after) point.wait();
      if (delay_us_ != 0) std::this_thread::sleep_for(std::chrono::microseconds(delay_us_));
      if (piece.work) piece.work();
    }
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace vramscope::simulator
