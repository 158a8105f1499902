// The thread's stack of ours: what runs on it, what in place, and how it is free again.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/own_stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace vramscope {
namespace {

// The calling function.
bool is_elsewhere() {
  const volatile char here = 0;
  return own_stack::holds(const_cast<const char*>(&here));
}

TEST(OwnStack, RunsOnAnotherStackAndComesBack) {
  bool elsewhere = false;
  int sum = 0;
  own_stack::run([&] {
    elsewhere = is_elsewhere();
    sum = 7;
  });
  EXPECT_TRUE(elsewhere);
  EXPECT_EQ(sum, 7);
  EXPECT_FALSE(is_elsewhere());
}

TEST(OwnStack, IsAlignedAsFunctionsExpect) {
  std::uintptr_t address = 1;
  own_stack::run([&] {
    alignas(16) volatile char here[16] = {};
    address = reinterpret_cast<std::uintptr_t>(&here);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) % 16, 0U);
  });
  EXPECT_EQ(address % 16, 0U);
}

TEST(OwnStack, RunsInPlaceWhereItIsInUse) {
  std::uintptr_t outer = 0, inner = 0;
  own_stack::run([&] {
    outer = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    own_stack::run([&] { inner = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); });
  });
  EXPECT_LE(inner, outer);  // on the same stack; in the same frame where a compiler inlines it
  EXPECT_LT(outer - inner, 4096U);
}

TEST(OwnStack, HasRoomForWhatTheCLibraryDoes) {
  std::size_t sum = 0;
  own_stack::run([&] {
    volatile unsigned char used[128 << 10];
    for (std::size_t i = 0; i < sizeof used; i += 64) used[i] = 1;
    for (std::size_t i = 0; i < sizeof used; i += 64) sum += used[i];
  });
  EXPECT_EQ(sum, std::size_t{128 << 10} / 64);
}

TEST(OwnStack, IsFreeAgainOnceAbandoned) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer knows the bounds of the thread's own stack only";
#endif
  std::jmp_buf before;
  if (setjmp(before) == 0) {
    own_stack::run([&] { std::longjmp(before, 1); });
  }
  EXPECT_TRUE(own_stack::is_used());
  own_stack::abandon();
  EXPECT_FALSE(own_stack::is_used());
  bool elsewhere = false;
  own_stack::run([&] { elsewhere = is_elsewhere(); });
  EXPECT_TRUE(elsewhere);
}

// A stack that is given back serves whoever asks next.
TEST(OwnStack, GoesFromThreadToThread) {
  std::set<std::uintptr_t> pages;
  const auto note = [&] {
    own_stack::run([&] {
      pages.insert(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) /
                   own_stack::kBytes);
    });
  };
  for (int i = 0; i < 100; ++i) std::thread(note).join();
  EXPECT_LE(pages.size(), 2U);  // its end may lie on a boundary
}

TEST(OwnStack, IsThereForEachOfMany) {
  std::vector<void*> ends;
  for (int i = 0; i < 200; ++i) ends.push_back(own_stack::take());
  EXPECT_EQ(std::set<void*>(ends.begin(), ends.end()).size(), 200U);
  EXPECT_FALSE(std::count(ends.begin(), ends.end(), nullptr));
  for (void* const end : ends) own_stack::give_back(end);
}

TEST(OwnStack, BelongsToOneThread) {
  bool elsewhere = false;
  const void* of_other = nullptr;
  std::thread([&] {
    own_stack::run([&] {
      elsewhere = is_elsewhere();
      of_other = __builtin_frame_address(0);
    });
  }).join();
  EXPECT_TRUE(elsewhere);
  EXPECT_FALSE(own_stack::holds(of_other));
}

}  // namespace
}  // namespace vramscope
