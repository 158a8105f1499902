// Threads that come and go count under one lock: nothing may be lost while its bias moves.
// SPDX-License-Identifier: Apache-2.0
//
// lock_stress [--seconds N]   Exit status 1, and one line on stdout, when a section was not alone.
#include <sched.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "allocator/base/biased_mutex.h"
#include "allocator/base/fault.h"

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 3;
constexpr std::uint32_t kStreak = 4;  // the bias moves all the time
constexpr int kBursts = 50;           // of a thread's life

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Stress {
 public:
  explicit Stress(double seconds) : seconds_(seconds) {}

  // True: every section was alone.
  bool run() {
    std::vector<std::thread> lines;
    for (unsigned i = 0; i < kThreads; ++i) {
      lines.emplace_back([this, i] {
        std::minstd_rand random(i + 1);
        while (!is_over()) std::thread([&] { live(random); }).join();
      });
    }
    for (std::thread& line : lines) line.join();
    return first_ == sections_ && second_ == sections_ && torn_ == 0;
  }

  void print(double took) const {
    const std::uint64_t sections = sections_;
    std::printf("%lu sections, %lu withdrawals, %ld lost, %lu torn, %.1f seconds\n", sections,
                mutex_.withdrawals(), static_cast<long>(sections - first_), torn_.load(), took);
  }
  std::uint64_t sections() const { return sections_; }

 private:
  bool is_over() const { return torn_ != 0 || seconds_since(start_) > seconds_; }

  // The life of one thread: bursts in which the bias settles, and pauses in which it moves.
  void live(std::minstd_rand& random) {
    for (int burst = 0; burst < kBursts && !is_over(); ++burst) {
      const unsigned count = random() % 400;
      for (unsigned i = 0; i < count; ++i) enter();
      sections_ += count;
      if (random() % 4 == 0) sched_yield();
      if (random() % 16 == 0) {
        const timespec pause{.tv_sec = 0, .tv_nsec = static_cast<long>(random() % 100'000)};
        nanosleep(&pause, nullptr);
      }
    }
  }

  void enter() {
    const ScopedLock lock(mutex_);
    const std::uint64_t seen = first_;
    first_ = seen + 1;
    if (second_ != seen || mutex_.holder() != this_holder()) ++torn_;
    second_ = seen + 1;
  }

  const double seconds_;
  const Clock::time_point start_ = Clock::now();
  BiasedMutex mutex_{kStreak};
  volatile std::uint64_t first_ = 0;
  volatile std::uint64_t second_ = 0;
  std::atomic<std::uint64_t> sections_{0};
  std::atomic<std::uint64_t> torn_{0};
};

void choose_fault() {
#ifdef VRAMSCOPE_FAULTS
  const char* name = std::getenv("VRAMSCOPE_FAULT");
  if (name && std::strcmp(name, "bias_withdrawn_unseen") == 0) {
    chosen_fault = Fault::bias_withdrawn_unseen;
  }
#endif
}

}  // namespace
}  // namespace vramscope

int main(int argc, char** argv) {
  using namespace vramscope;
  const bool has_seconds = argc == 3 && std::strcmp(argv[1], "--seconds") == 0;
  choose_fault();
  BiasedMutex::prepare();
  const Clock::time_point start = Clock::now();
  Stress stress(has_seconds ? std::atof(argv[2]) : 2);
  const bool is_alone = stress.run();
  stress.print(seconds_since(start));
  if (is_alone) return 0;
  // As test/differential/faults.py reads it.
  std::printf("found: seed 1, %lu calls, %.1f seconds, in a section: not alone\n",
              stress.sections(), seconds_since(start));
  return 1;
}
