// Each living thread has a room of its own; those of threads that ended are used again.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/thread_buffer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace vramscope {
namespace {

using thread_buffer::Parts;

bool is_zero(const Parts& parts) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&parts);
  return std::all_of(bytes, bytes + sizeof parts, [](unsigned char byte) { return byte == 0; });
}

TEST(ThreadBuffer, StaysTheSameForAThread) {
  errno = 77;
  Parts* const parts = thread_buffer::get();
  EXPECT_EQ(errno, 77);
  ASSERT_NE(parts, nullptr);
  std::memset(parts, 1, sizeof *parts);
  EXPECT_EQ(thread_buffer::get(), parts);
}

TEST(ThreadBuffer, BelongsToOneLivingThread) {
  constexpr std::size_t kThreads = 40;
  std::vector<Parts*> rooms(kThreads);
  std::atomic<std::size_t> arrived{0};
  std::vector<std::thread> threads;
  for (Parts*& room : rooms) {
    threads.emplace_back([&] {
      room = thread_buffer::get();
      ++arrived;
      while (arrived < kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<Parts*>(rooms.begin(), rooms.end()).size(), kThreads);
  EXPECT_FALSE(std::count(rooms.begin(), rooms.end(), nullptr));
}

TEST(ThreadBuffer, IsTakenOverEmpty) {
  std::set<Parts*> rooms;
  for (int i = 0; i < 500; ++i) {
    std::thread([&rooms] {
      Parts* const parts = thread_buffer::get();
      ASSERT_NE(parts, nullptr);
      EXPECT_TRUE(is_zero(*parts));
      std::memset(parts, 1, sizeof *parts);
      rooms.insert(parts);
    }).join();
  }
  // A joined thread may still be on its way out, and other tests' threads left theirs.
  EXPECT_LT(rooms.size(), 100U);
}

TEST(ThreadBuffer, IsEmptyOnceDiscarded) {
  Parts* const parts = thread_buffer::get();
  ASSERT_NE(parts, nullptr);
  std::memset(parts, 1, sizeof *parts);
  errno = 77;
  thread_buffer::discard();
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(thread_buffer::get(), parts);
  EXPECT_TRUE(is_zero(*parts));
}

// The child's threads have the numbers that the system gives them, the room of its only thread that
// of the parent's.
TEST(ThreadBuffer, OfAParentIsLeftAlone) {
  Parts* const parents = thread_buffer::get();
  const pid_t child = fork();
  if (child == 0) {
    bool good = thread_buffer::get() == parents;
    for (int i = 0; i < 20; ++i) {
      std::thread([&] { good = good && thread_buffer::get() != parents; }).join();
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace vramscope
