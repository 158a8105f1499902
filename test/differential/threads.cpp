// Hands jobs to threads.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/threads.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace vramscope::differential {
namespace {

class Worker {
 public:
  Worker() {
    std::thread([this] { serve(); }).detach();
  }

  void begin(std::vector<std::function<void()>> jobs) {
    const std::lock_guard lock(mutex_);
    jobs_ = std::move(jobs);
    busy_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return busy_; });
      lock.unlock();
      for (const auto& job : jobs_) job();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> jobs_;  // touched by the worker alone while busy
  bool busy_ = false;
};

Worker& worker(int thread) {
  static std::map<int, Worker*>& workers = *new std::map<int, Worker*>;  // never ends
  Worker*& found = workers[thread];
  if (found == nullptr) found = new Worker;
  return *found;
}

}  // namespace

void run_alone(const Job& job) {
  if (job.thread == 0) return job.work();
  worker(job.thread).begin({job.work});
  worker(job.thread).wait();
}

void run_together(const std::vector<Job>& jobs) {
  std::map<int, std::vector<std::function<void()>>> by_thread;
  for (const Job& job : jobs) by_thread[job.thread].push_back(job.work);
  for (auto& [thread, work] : by_thread) {
    if (thread != 0) worker(thread).begin(work);
  }
  for (const auto& work : by_thread[0]) work();
  for (const auto& [thread, work] : by_thread) {
    if (thread != 0) worker(thread).wait();
  }
}

}  // namespace vramscope::differential
