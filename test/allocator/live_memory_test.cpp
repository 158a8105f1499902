// Live memory: what a process wrote can be read in its file after SIGKILL, and what a full file
// system or a lost file does to it.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/ground/live_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "allocator/ground/mapped_array.h"

namespace vramscope {
namespace {

constexpr std::size_t kMany = 100'000;

struct LiveMemoryTest : testing::Test {
  LiveMemoryTest() : file(mkstemp(path.data())) {}
  ~LiveMemoryTest() override {
    close(file);
    unlink(path.c_str());
  }
  // What the file has at an offset.
  template <class T>
  T read(std::uint64_t offset) const {
    T value{};
    EXPECT_EQ(static_cast<ssize_t>(sizeof value),
              pread(file, &value, sizeof value, static_cast<off_t>(offset)));
    return value;
  }
  static std::uint64_t offset_of(LivePart part) {
    return static_cast<std::uint64_t>(part) * kLivePartBytes;
  }

  std::string path = "/dev/shm/vramscope-live-test-XXXXXX";
  int file;
};

TEST_F(LiveMemoryTest, WhatAKilledProcessWroteIsInTheFile) {
  const pid_t child = fork();
  if (child == 0) {
    LiveMemory memory;
    if (memory.begin(file, path.c_str()) != 0) _exit(1);
    MappedArray<std::uint64_t> array(LivePages{&memory, LivePart::blocks});
    for (std::size_t i = 0; i < kMany; ++i) {
      if (!array.grow_to(i + 1)) _exit(2);
      array[i] = i;
    }
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(LiveHeader::kFormat, read<std::uint32_t>(offsetof(LiveHeader, format)));
  constexpr std::size_t kBlocks = static_cast<std::size_t>(LivePart::blocks);
  EXPECT_LE(kMany * 8, read<std::uint64_t>(offsetof(LiveHeader, bytes) + 8 * kBlocks));
  for (std::size_t i = 0; i < kMany; i += 997) {
    EXPECT_EQ(i, read<std::uint64_t>(offset_of(LivePart::blocks) + 8 * i));
  }
}

TEST_F(LiveMemoryTest, ArraysDoNotMove) {
  LiveMemory memory;
  ASSERT_EQ(0, memory.begin(file, path.c_str()));
  MappedArray<std::uint64_t> array(LivePages{&memory, LivePart::tags});
  ASSERT_TRUE(array.grow_to(1));
  const std::uint64_t* const first = &array[0];
  ASSERT_TRUE(array.grow_to(kMany));
  EXPECT_EQ(first, &array[0]);
}

TEST_F(LiveMemoryTest, WithoutTheFileTheMemoryGoesOn) {
  LiveMemory memory;
  ASSERT_EQ(0, memory.begin(file, path.c_str()));
  MappedArray<std::uint64_t> array(LivePages{&memory, LivePart::tags});
  ASSERT_TRUE(array.grow_to(kMany));
  array[kMany - 1] = 7;
  unlink(path.c_str());
  ASSERT_TRUE(array.grow_to(100 * kMany));
  EXPECT_EQ(static_cast<std::uint32_t>(ENOENT), memory.header()->problem.load());
  array[100 * kMany - 1] = 8;
  EXPECT_EQ(7U, array[kMany - 1]);
}

TEST_F(LiveMemoryTest, ALimitOfFileSizesKillsNobody) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    LiveMemory memory;
    if (memory.begin(file, path.c_str()) != 0) _exit(1);
    MappedArray<std::uint64_t> array(LivePages{&memory, LivePart::tags});
    if (!array.grow_to(kMany)) _exit(2);
    array[kMany - 1] = 1;
    _exit(memory.header()->problem == EFBIG ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
}

TEST_F(LiveMemoryTest, ObjectsAreAlignedAndZeroed) {
  LiveMemory memory;
  ASSERT_EQ(0, memory.begin(file, path.c_str()));
  struct alignas(64) Line {
    std::uint64_t words[8];
  };
  EXPECT_EQ(1U, *memory.make<std::uint8_t>(1));
  const Line* const line = memory.make<Line>();
  ASSERT_NE(nullptr, line);
  EXPECT_EQ(0U, reinterpret_cast<std::uintptr_t>(line) % 64);
  EXPECT_EQ(0U, line->words[7]);
  EXPECT_NE(nullptr, memory.allocate(1 << 20, 4096));
}

TEST_F(LiveMemoryTest, AForkedChildDoesNotHaveThePages) {
  LiveMemory memory;
  ASSERT_EQ(0, memory.begin(file, path.c_str()));
  std::uint64_t* const word = memory.make<std::uint64_t>(1U);
  const pid_t child = fork();
  if (child == 0) {
    unsigned char resident = 0;
    void* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(word) & ~4095UL);
    _exit(mincore(page, 4096, &resident) == -1 && errno == ENOMEM ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
}

}  // namespace
}  // namespace vramscope
