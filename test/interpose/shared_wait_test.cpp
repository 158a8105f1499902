// Threads that wait at the same time: each goes on after a wait that began when it was there.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/driver/shared_wait.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace vramscope {
namespace {

constexpr int kThreads = 4;
constexpr int kWaitsOfEach = 20'000;

// Time is the number of things that happened.
class Driver {
 public:
  [[nodiscard]] std::uint64_t now() { return clock_.fetch_add(1); }
  // A wait in `context`: what it proves is known when it ends.
  [[nodiscard]] int wait(std::uint32_t context) {
    waits_.fetch_add(1);
    const std::uint64_t began = now();
    for (int i = 0; i < 20; ++i) pause_processor();
    std::uint64_t known = proved_[context].load();
    while (known < began && !proved_[context].compare_exchange_weak(known, began)) {
    }
    return 0;
  }
  [[nodiscard]] std::uint64_t proved(std::uint32_t context) const {
    return proved_[context].load();
  }
  [[nodiscard]] int waits() const { return waits_.load(); }

 private:
  std::atomic<std::uint64_t> clock_{1};
  std::array<std::atomic<std::uint64_t>, 2> proved_{};
  std::atomic<int> waits_{0};
};

TEST(SharedWait, EachThreadGoesOnAfterAWaitThatBeganWhenItWasThere) {
  Driver driver;
  SharedWait shared;
  std::atomic<int> unproved{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, context = static_cast<std::uint32_t>(i % 2)] {
      for (int k = 0; k < kWaitsOfEach; ++k) {
        const std::uint64_t came = driver.now();
        EXPECT_EQ(shared(context, [&] { return driver.wait(context); }), 0);
        if (driver.proved(context) <= came) unproved.fetch_add(1);
      }
    });
  }

  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(unproved.load(), 0);
  EXPECT_LE(driver.waits(), kThreads * kWaitsOfEach);
}

// One thread is amid a wait: another gives up on it and makes its own.
TEST(SharedWait, NobodyDependsOnAWaitThatDoesNotEnd) {
  SharedWait shared;
  std::atomic<bool> is_amid{false}, may_end{false};
  std::thread first([&] {
    EXPECT_EQ(shared(0,
                     [&] {
                       is_amid = true;
                       while (!may_end) std::this_thread::yield();
                       return 0;
                     }),
              0);
  });
  while (!is_amid) std::this_thread::yield();
  int own = 0;

  EXPECT_EQ(shared(0, [&] { return ++own, 0; }), 0);

  EXPECT_EQ(own, 1);
  may_end = true;
  first.join();
}

TEST(SharedWait, WhatFailedProvesNothingToOthers) {
  SharedWait shared;
  EXPECT_EQ(shared(0, [] { return 700; }), 700);
  std::thread([&] {
    int own = 0;
    EXPECT_EQ(shared(0, [&] { return ++own, 0; }), 0);
    EXPECT_EQ(own, 1);
  }).join();
}

TEST(SharedWait, AThreadAloneMakesEachWait) {
  SharedWait shared;
  int own = 0;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(shared(0, [&] { return ++own, 0; }), 0);
  EXPECT_EQ(own, 10);
}

}  // namespace
}  // namespace vramscope
