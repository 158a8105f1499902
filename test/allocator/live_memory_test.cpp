// Live memory: what a process wrote can be read in its file after SIGKILL, and what a full file
// system or a lost file does to it.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/live_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "allocator/base/mapped_array.h"
#include "allocator/caching_allocator.h"
#include "test/simulator/device/simulated_backend.h"
#include "test/simulator/device/simulated_device.h"

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

// Each was sixteen pages or more, 152 together, paid for by the first allocation of each process.
TEST_F(LiveMemoryTest, TheFirstAllocationTakesFewPages) {
  LiveMemory memory;
  ASSERT_EQ(0, memory.begin(file, path.c_str()));
  simulator::SimulatedDevice device({.capacity = std::uint64_t{1} << 30});
  simulator::SimulatedBackend backend(device);
  CachingAllocator allocator(backend, {}, &memory);
  allocator.join(1, {1});
  ASSERT_TRUE(allocator.allocate({.bytes = 1 << 20, .tag = 1}).status.ok());

  std::uint64_t bytes = 0;
  for (auto part = static_cast<std::size_t>(LivePart::names); part < kLiveParts; ++part) {
    bytes += memory.header()->bytes[part];
  }
  EXPECT_EQ(0U, memory.header()->problem.load());
  EXPECT_LE(bytes, 20 * std::uint64_t{kWholePage});
}

// A program that closed all descriptors, or may open none, that left its root folder.
TEST_F(LiveMemoryTest, GrowsWithoutDescriptorOrName) {
  LiveMemory memory;
  ASSERT_EQ(0, memory.begin(file, path.c_str()));
  MappedArray<std::uint64_t> array(LivePages{&memory, LivePart::tags});
  ASSERT_TRUE(array.grow_to(kMany));
  array[kMany - 1] = 7;
  const std::string moved = path + "-moved";
  ASSERT_EQ(0, rename(path.c_str(), moved.c_str()));
  ASSERT_TRUE(array.grow_to(100 * kMany));
  EXPECT_EQ(0U, memory.header()->problem.load());
  array[100 * kMany - 1] = 8;
  EXPECT_EQ(7U, array[kMany - 1]);
  EXPECT_EQ(8U, read<std::uint64_t>(offset_of(LivePart::tags) + 8 * (100 * kMany - 1)));
  ASSERT_EQ(0, rename(moved.c_str(), path.c_str()));
  memory.finish(LiveState::finished);
  EXPECT_EQ(-1, access(path.c_str(), F_OK));
  EXPECT_FALSE(memory.revive());
}

// Ends 0 when `f` gives 0, in a process of its own.
template <class F>
int status_of(F&& f) {
  const pid_t child = fork();
  if (child == 0) _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// In a process of its own: live memory stays mapped, and too much of it confuses the thread
// sanitizer.
TEST_F(LiveMemoryTest, SaysThatItIsFinishedWhereItCannotBeRemoved) {
  const std::string moved = path + "-moved";
  const auto has_state = [&](LiveState state) {
    return read<LiveState>(offsetof(LiveHeader, state)) == state;
  };

  const int status = status_of([&] {
    LiveMemory memory;
    if (memory.begin(file, path.c_str()) != 0 || rename(path.c_str(), moved.c_str()) != 0) return 1;
    close(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600));
    memory.finish(LiveState::reported);
    if (access(path.c_str(), F_OK) != 0) return 2;  // another file has the name
    if (!has_state(LiveState::reported)) return 3;
    return memory.revive() && has_state(LiveState::needed) ? 0 : 4;
  });

  EXPECT_EQ(0, status);
  ASSERT_EQ(0, unlink(path.c_str()));
  ASSERT_EQ(0, rename(moved.c_str(), path.c_str()));
}

TEST_F(LiveMemoryTest, ALimitOfFileSizesKillsNobody) {
  EXPECT_EQ(0, status_of([&] {
              const rlimit limit{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
              setrlimit(RLIMIT_FSIZE, &limit);
              LiveMemory memory;
              return memory.begin(file, path.c_str()) == EFBIG ? 0 : 1;
            }));
  EXPECT_EQ(0, status_of([&] {
              LiveMemory memory;
              if (memory.begin(file, path.c_str()) != 0) return 1;
              const rlimit limit{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
              setrlimit(RLIMIT_FSIZE, &limit);
              MappedArray<std::uint64_t> array(LivePages{&memory, LivePart::tags});
              if (!array.grow_to(kMany)) return 2;
              array[kMany - 1] = 1;
              return memory.header()->problem == EFBIG ? 0 : 3;
            }));
}

// 1 MiB in all, of which half is left to others.
TEST_F(LiveMemoryTest, AFullFileSystemKillsNobody) {
  constexpr int kCannotMount = 77;
  const int status = status_of([&] {
    const std::string folder = path + "-full";
    if (mkdir(folder.c_str(), 0700) != 0) return 1;
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0 ||
        mount("none", folder.c_str(), "tmpfs", 0, "size=1m") != 0) {
      return kCannotMount;
    }
    const std::string name = folder + "/live";
    const int own = open(name.c_str(), O_RDWR | O_CREAT, 0600);
    LiveMemory memory;
    if (memory.begin(own, name.c_str()) != 0) return 2;
    MappedArray<std::uint64_t> array(LivePages{&memory, LivePart::tags});
    MappedArray<std::uint64_t> other(LivePages{&memory, LivePart::blocks});
    if (!array.grow_to(1000) || memory.header()->problem != 0) return 3;
    array[999] = 9;
    if (!array.grow_to(kMany) || !other.grow_to(kMany)) return 4;
    if (memory.header()->problem != ENOSPC) return 5;
    array[kMany - 1] = other[0] = other[kMany - 1] = 1;
    struct statvfs system {};
    if (statvfs(folder.c_str(), &system) != 0 || system.f_bavail * 2 < system.f_blocks) return 6;
    return array[999] == 9 ? 0 : 7;
  });
  rmdir((path + "-full").c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotMount) {
    GTEST_SKIP() << "nothing can be mounted here";
  }
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

// In a child: nothing is mapped there.
bool is_unmapped(std::uintptr_t address) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  void* const page = reinterpret_cast<void*>(address & ~(page_bytes - 1));
  return mincore(page, page_bytes, &resident) == -1 && errno == ENOMEM;
}

// Emulators of user programs say so and do not (qemu 7.2).
bool system_leaves_pages_out_of_children() {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool is_marked = madvise(page, page_bytes, MADV_DONTFORK) == 0;
  const int status =
      status_of([page] { return is_unmapped(reinterpret_cast<std::uintptr_t>(page)) ? 0 : 1; });
  munmap(page, page_bytes);
  return is_marked && status == 0;
}

TEST_F(LiveMemoryTest, AForkedChildDoesNotHaveThePages) {
  if (!system_leaves_pages_out_of_children()) {
    GTEST_SKIP() << "this system gives children of fork the pages that are marked MADV_DONTFORK";
  }
  LiveMemory memory;
  ASSERT_EQ(0, memory.begin(file, path.c_str()));
  std::uint64_t* const word = memory.make<std::uint64_t>(1U);
  EXPECT_EQ(
      0, status_of([word] { return is_unmapped(reinterpret_cast<std::uintptr_t>(word)) ? 0 : 1; }));
}

}  // namespace
}  // namespace vramscope
