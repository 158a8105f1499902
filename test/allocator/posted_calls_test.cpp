// Calls that are left to whoever has the lock: made once, by one of both, and counted exactly.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/posted_calls.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

using Stage = PostedCalls::Stage;

TEST(PostedCalls, AreAnsweredOnce) {
  PostedCalls calls;
  PostedCalls::Call* const one = calls.claim();
  PostedCalls::Call* const other = calls.claim();
  ASSERT_TRUE(one != nullptr && other != nullptr && one != other);
  EXPECT_FALSE(calls.any());

  calls.post(*one);
  calls.post(*other);
  EXPECT_TRUE(calls.any());
  int made = 0;
  calls.answer([&](PostedCalls::Call& call) {
    ++made;
    return &call == one ? Stage::made : Stage::declined;
  });

  EXPECT_EQ(made, 2);
  EXPECT_FALSE(calls.any());
  EXPECT_TRUE(one->is_answered() && other->is_answered());
  EXPECT_EQ(one->stage, Stage::made);
  EXPECT_EQ(other->stage, Stage::declined);
  EXPECT_FALSE(calls.withdraw(*one));
}

TEST(PostedCalls, AreNotAnsweredOnceWithdrawn) {
  PostedCalls calls;
  PostedCalls::Call* const call = calls.claim();
  calls.post(*call);

  EXPECT_TRUE(calls.withdraw(*call));

  EXPECT_FALSE(calls.any());
  calls.answer([](PostedCalls::Call&) { return Stage::made; });
  EXPECT_FALSE(call->is_answered());
}

TEST(PostedCalls, AreRefusedWhereThereIsNoRoom) {
  PostedCalls calls;
  std::vector<PostedCalls::Call*> all;
  while (PostedCalls::Call* const call = calls.claim()) all.push_back(call);

  ASSERT_EQ(all.size(), 16u);
  calls.give_back(*all[7]);
  EXPECT_EQ(calls.claim(), all[7]);
}

// Threads that do nothing else: they meet all the time, and leave their calls to each other.
class ThreadsThatMeet : public AllocatorFixture {
 protected:
  ThreadsThatMeet() : AllocatorFixture(16384 * kMiB, {}) {}

  // `bytes`: of the thread with that number.
  template <class Bytes>
  void hammer(Bytes bytes) {
    constexpr int kPairs = 20'000;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t, bytes] {
        for (int i = 0; i < kPairs; ++i) {
          const Outcome came = allocate(bytes(t, i), static_cast<Tag>(t) + 1);
          const Outcome went = allocator_.free(came.address);
          if (!came.status.ok() || !went.status.ok() || went.tag != came.tag ||
              went.requested != came.requested) {
            ++wrong_[t];
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();

    for (int t = 0; t < kThreads; ++t) {
      EXPECT_EQ(wrong_[t], 0) << t;
      EXPECT_EQ(tag(static_cast<Tag>(t) + 1).live_count, 0u);
      EXPECT_EQ(tag(static_cast<Tag>(t) + 1).total_count, std::uint64_t{kPairs}) << t;
    }
    const DeviceStatistics now = statistics();
    EXPECT_EQ(now.allocation.all.allocated, std::int64_t{kThreads} * kPairs);
    EXPECT_EQ(now.allocation.all.freed, std::int64_t{kThreads} * kPairs);
    EXPECT_LE(now.allocation.all.peak, std::int64_t{kThreads});
  }

  static constexpr int kThreads = 8;
  int wrong_[kThreads] = {};
};

TEST_F(ThreadsThatMeet, WithSizesOfTheirOwn) {
  hammer([](int thread, int) { return (thread + 1) * 2 * kMiB; });
}

TEST_F(ThreadsThatMeet, WithOneSmallSize) {
  hammer([](int, int) { return std::uint64_t{4096}; });
}

TEST_F(ThreadsThatMeet, WithSizesThatChange) {
  hammer([](int thread, int i) { return std::uint64_t{1} << (12 + (thread + i) % 12); });
}

}  // namespace
}  // namespace vramscope::test
