// What is counted in whole pages, where these are the largest that a machine may have.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "allocator/base/live_memory.h"
#include "allocator/base/machine.h"
#include "allocator/base/mapped_array.h"
#include "allocator/books/birth_times.h"

namespace vramscope {
namespace {

static_assert(kWholePage == std::size_t{64} << 10);

struct LargePages : testing::Test {
  LargePages() : file(mkstemp(path.data())), problem(memory.begin(file, path.c_str())) {}
  ~LargePages() override {
    close(file);
    unlink(path.c_str());
  }

  std::string path = "/dev/shm/vramscope-large-pages-test-XXXXXX";
  int file;
  LiveMemory memory;
  int problem;
};

TEST_F(LargePages, ALiveArrayEndsWithAPage) {
  ASSERT_EQ(0, problem);
  MappedArray<std::uint64_t> array(LivePages{&memory, LivePart::tags});
  ASSERT_TRUE(array.grow_to(kWholePage / sizeof(std::uint64_t) + 1));
  EXPECT_EQ(2 * kWholePage, array.size() * sizeof(std::uint64_t));
}

// A snapshot made room again and again: the live array ended with a page, its copy did not.
TEST_F(LargePages, ACopyOfLiveBirthTimesHasRoom) {
  ASSERT_EQ(0, problem);
  BirthTimes live(&memory);
  live.note(1, 4711);
  BirthTimes copy;

  EXPECT_FALSE(copy.has_room_for(live));
  ASSERT_TRUE(copy.make_room());

  ASSERT_TRUE(copy.has_room_for(live));
  copy.copy_from(live);
  EXPECT_EQ(4711U, copy.time_of(1));
}

}  // namespace
}  // namespace vramscope
