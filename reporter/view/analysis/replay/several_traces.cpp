// Shares traces among threads.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/several_traces.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace vramscope {
namespace {

// Threads: any.
class SeveralTraces {
 public:
  SeveralTraces(std::size_t count, const FollowOne& follow) : count_(count), follow_(follow) {}

  void follow_some() noexcept {
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) follow_(i, followed_);
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      if (!problem_) problem_ = std::current_exception();
      next_ = count_;
    }
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  // Returns when so many threads have ended.
  void wait_for(std::size_t threads, std::uint64_t events, const TellShare& tell) {
    constexpr std::chrono::milliseconds kTellEvery{100};
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    for (bool is_over = false; !is_over;) {
      is_over = changed_.wait_for(lock, kTellEvery, [&] { return ended_ == threads; });
      lock.unlock();
      const auto ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
      const std::uint64_t steps = is_over ? events : std::min<std::uint64_t>(followed_, events);
      if (tell) tell({steps, events, static_cast<std::uint64_t>(ns)});
      lock.lock();
    }
  }

  void rethrow() const {
    if (problem_) std::rethrow_exception(problem_);
  }

 private:
  const std::size_t count_;
  const FollowOne& follow_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> followed_{0};  // events
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ended_ = 0;
  std::exception_ptr problem_;
};

}  // namespace

void follow_several(std::size_t count, const FollowOne& follow, std::uint64_t events,
                    const TellShare& tell) {
  constexpr std::size_t kMostThreads = 16;  // each has what lives at a time of its trace
  if (count == 0) return;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  SeveralTraces traces(count, follow);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min({cores, count, kMostThreads}); ++i)
    threads.emplace_back([&traces] { traces.follow_some(); });
  traces.wait_for(threads.size(), events, tell);
  threads.clear();
  traces.rethrow();
}

}  // namespace vramscope
