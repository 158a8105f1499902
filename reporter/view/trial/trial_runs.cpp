// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/trial_runs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTellEvery{100};

// The replays that several threads share. Threads: any.
class Replays {
 public:
  Replays(const TrialSteps& steps, const std::vector<TrialSettings>& settings)
      : steps_(steps), settings_(settings), results_(settings.size()) {}

  void play_some() noexcept {
    try {
      for (std::size_t i = next_++; i < settings_.size(); i = next_++) {
        results_[i] = play(steps_, settings_[i], progress_);
      }
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      if (!problem_) problem_ = std::current_exception();
      progress_.stops = true;
      next_ = settings_.size();
    }
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  // Returns when so many threads have ended.
  void wait_for(std::size_t threads, const TellShare& tell) {
    const Clock::time_point start = Clock::now();
    const std::uint64_t all = steps_.steps.size() * settings_.size();
    std::unique_lock lock(mutex_);
    for (bool is_over = false; !is_over;) {
      is_over = changed_.wait_for(lock, kTellEvery, [&] { return ended_ == threads; });
      lock.unlock();
      const auto ns = std::chrono::nanoseconds(Clock::now() - start).count();
      if (tell) tell({progress_.steps, all, static_cast<std::uint64_t>(ns)});
      lock.lock();
    }
  }

  std::vector<TrialResult> take() {
    if (problem_) std::rethrow_exception(problem_);
    return std::move(results_);
  }

 private:
  const TrialSteps& steps_;
  const std::vector<TrialSettings>& settings_;
  std::vector<TrialResult> results_;
  TrialProgress progress_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ended_ = 0;
  std::exception_ptr problem_;
};

}  // namespace

std::vector<TrialResult> play_all(const TrialSteps& steps,
                                  const std::vector<TrialSettings>& settings,
                                  const TellShare& tell) {
  Replays replays(steps, settings);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min(cores, settings.size()); ++i) {
    threads.emplace_back([&replays] { replays.play_some(); });
  }
  replays.wait_for(threads.size(), tell);
  threads.clear();
  return replays.take();
}

TrialSettings without_end(TrialSettings settings) {
  settings.capacity.fill(kMostCapacity);
  settings.memory_limit.fill(0);
  return settings;
}

std::vector<std::optional<TrialRefusal>> play_refused_again(
    const TrialSteps& steps, const std::vector<TrialSettings>& settings,
    std::vector<TrialResult>& results, const TellShare& tell) {
  std::vector<std::optional<TrialRefusal>> refusals;
  std::vector<std::size_t> again;
  std::vector<TrialSettings> endless;
  for (std::size_t i = 0; i < results.size(); ++i) {
    refusals.push_back(results[i].refusal);
    if (!results[i].refusal) continue;
    again.push_back(i);
    endless.push_back(without_end(settings[i]));
  }
  if (again.empty()) return refusals;
  std::vector<TrialResult> found = play_all(steps, endless, tell);
  for (std::size_t i = 0; i < again.size(); ++i) results[again[i]] = std::move(found[i]);
  return refusals;
}

}  // namespace vramscope
