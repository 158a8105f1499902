// Queues of work: order, waiting for each other, closing.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <future>

namespace vramscope::simulator {
namespace {

std::shared_ptr<Engine> engine() { return std::make_shared<Engine>(0); }

TEST(Engine, DoesItsWorkInOrder) {
  const auto queue = engine();
  std::vector<int> done;

  for (int i = 0; i < 100; ++i) queue->submit([&done, i] { done.push_back(i); }, {});
  queue->tail().wait();

  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(Engine, WaitsForPointsOfOtherEngines) {
  const auto first = engine();
  const auto second = engine();
  std::promise<void> gate;
  std::atomic<int> stage = 0;

  const Point point = first->submit(
      [&] {
        gate.get_future().wait();
        stage = 1;
      },
      {});
  int seen = -1;
  const Point after = second->submit([&] { seen = stage; }, {point});
  EXPECT_FALSE(after.reached());
  gate.set_value();
  after.wait();

  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(point.reached());
}

TEST(Engine, FinishesItsWorkAfterItWasClosed) {
  auto queue = engine();
  std::atomic<bool> done = false;

  queue->submit([&] { done = true; }, {});
  const Point tail = queue->tail();
  queue->close();
  queue.reset();
  tail.wait();

  EXPECT_TRUE(done);
}

TEST(Engine, BlocksAllSignalsOnItsThread) {
  const auto queue = engine();
  sigset_t blocked;
  sigemptyset(&blocked);

  queue->submit([&] { pthread_sigmask(SIG_SETMASK, nullptr, &blocked); }, {});
  queue->tail().wait();

  EXPECT_TRUE(sigismember(&blocked, SIGUSR1));
  EXPECT_TRUE(sigismember(&blocked, SIGTERM));
}

TEST(Point, OfNothingIsReached) { EXPECT_TRUE(Point{}.reached()); }

}  // namespace
}  // namespace vramscope::simulator
