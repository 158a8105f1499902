// Several threads on one allocator: throughput, and the tail of single calls.
// SPDX-License-Identifier: Apache-2.0
#include "test/bench/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace vramscope::bench {
namespace {

constexpr std::uint64_t kCapacity = 80ull << 30;
constexpr int kPairs = 100000;      // of each thread
constexpr std::size_t kSlots = 64;  // live blocks of each thread
constexpr double kTail = 0.9999;    // of the calls are no slower

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

// One thread's work, its calls timed one by one or all together.
class Hammer {
 public:
  Hammer(const Plugin& plugin, void* self, std::uint64_t seed)
      : plugin_(plugin), self_(self), random_{seed * 0x9E3779B97F4A7C15ull + 1}, held_(kSlots) {}

  void fill() {
    for (void*& address : held_) address = allocate();
  }
  void empty() {
    for (void*& address : held_) plugin_.release(self_, address);
  }
  void run() {
    for (int i = 0; i < kPairs; ++i) replace(held_[random_.next() % kSlots]);
  }
  void run_timed() {
    calls_ns.reserve(2 * kPairs);
    for (int i = 0; i < kPairs; ++i) {
      void*& address = held_[random_.next() % kSlots];
      const double start = now_ns();
      plugin_.release(self_, address);
      const double middle = now_ns();
      address = allocate();
      calls_ns.push_back(static_cast<float>(middle - start));
      calls_ns.push_back(static_cast<float>(now_ns() - middle));
    }
  }

  std::vector<float> calls_ns;

 private:
  void* allocate() {
    const std::uint64_t bits = random_.next();
    const std::size_t bytes = (std::size_t{1} << (bits % 22)) + (bits >> 32) % 4096;
    const std::size_t unit = plugin_.bytes_per_unit;
    return plugin_.allocate(self_, (bytes + unit - 1) / unit, 1 + bits % 256);
  }
  void replace(void*& address) {
    plugin_.release(self_, address);
    address = allocate();
  }

  const Plugin& plugin_;
  void* self_;
  Random random_;
  std::vector<void*> held_;
};

// All threads begin at once; how long they took together.
template <class Work>
double together(std::vector<Hammer>& hammers, Work work) {
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (Hammer& hammer : hammers) {
    threads.emplace_back([&] {
      ++ready;
      while (!go.load()) std::this_thread::yield();
      work(hammer);
    });
  }
  while (ready.load() < hammers.size()) std::this_thread::yield();
  const double start = now_ns();
  go = true;
  for (std::thread& thread : threads) thread.join();
  return now_ns() - start;
}

}  // namespace

void measure_threads(const Plugin& plugin, int count, int round) {
  void* self = plugin.create(kCapacity);
  std::vector<Hammer> hammers;
  for (int i = 0; i < count; ++i) hammers.emplace_back(plugin, self, static_cast<unsigned>(i + 1));
  for (Hammer& hammer : hammers) hammer.fill();
  together(hammers, [](Hammer& hammer) { hammer.run(); });  // warm
  const double took_ns = together(hammers, [](Hammer& hammer) { hammer.run(); });
  together(hammers, [](Hammer& hammer) { hammer.run_timed(); });
  std::vector<float> calls;
  for (const Hammer& hammer : hammers) {
    calls.insert(calls.end(), hammer.calls_ns.begin(), hammer.calls_ns.end());
  }
  const auto tail =
      calls.begin() + static_cast<std::ptrdiff_t>(kTail * static_cast<double>(calls.size()));
  std::nth_element(calls.begin(), tail, calls.end());
  for (Hammer& hammer : hammers) hammer.empty();
  plugin.destroy(self);
  std::printf(
      "{\"threads\": %d, \"plugin_name\": \"%s\", \"round\": %d, \"ns_per_pair\": %.1f, "
      "\"tail_ns\": %.0f}\n",
      count, plugin.name, round, took_ns / kPairs, static_cast<double>(*tail));
}

}  // namespace vramscope::bench
