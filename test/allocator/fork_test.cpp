// A fork amid a call, while other threads are amid calls of theirs: the child has all of the live
// memory, no lock that is lost, and nothing to do with the file.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "allocator/base/backend.h"
#include "allocator/base/capability.h"
#include "allocator/base/fork_locks.h"
#include "allocator/base/live_copy.h"
#include "allocator/base/live_memory.h"
#include "allocator/base/size_policy.h"
#include "allocator/caching_allocator.h"
#include "test/allocator/allocator_fixture.h"

namespace vramscope::test {
namespace {

// A device with no lock but one that a fork takes.
class LockedBackend final : public Backend {
 public:
  explicit LockedBackend(Backend& backend) : backend_(backend) {}
  [[nodiscard]] Grant reserve(Place where, std::size_t bytes) noexcept override {
    const SystemLock lock(lock_);
    return backend_.reserve(where, bytes);
  }
  Reply release(Place where, Address segment) noexcept override {
    const SystemLock lock(lock_);
    return backend_.release(where, segment);
  }
  Reply wait(Place where) noexcept override {
    const SystemLock lock(lock_);
    return backend_.wait(where);
  }
  Reply probe(Place where) noexcept override {
    const SystemLock lock(lock_);
    return backend_.probe(where);
  }
  [[nodiscard]] bool may_wait(Place where) noexcept override {
    const SystemLock lock(lock_);
    return backend_.may_wait(where);
  }
  [[nodiscard]] std::uint64_t total_bytes(Place where) noexcept override {
    const SystemLock lock(lock_);
    return backend_.total_bytes(where);
  }

 private:
  Backend& backend_;
  SystemMutex lock_;
};

struct ForkTest : testing::Test {
  ForkTest() : file(mkstemp(path.data())) {
    EXPECT_EQ(0, live.begin(file, path.c_str()));
    allocator = std::make_unique<CachingAllocator>(backend, Limits{}, &live);
  }
  ~ForkTest() override {
    close(file);
    unlink(path.c_str());
  }

  void call(std::size_t bytes) const {
    const Outcome out = allocator->allocate({.where = kDevice0, .bytes = bytes});
    if (out.status.ok()) static_cast<void>(allocator->free(out.address));
  }

  // In a child: 0, or which step failed. Its own calls change its own copy, growth included.
  [[nodiscard]] int use() const {
    if (!allocator->check_invariants().empty()) return 1;
    for (std::size_t i = 1; i < 3000; ++i) {
      if (!allocator->allocate({.where = kDevice0, .bytes = i % 60 * 1000 + 1}).status.ok())
        return 2;
    }
    return allocator->check_invariants().empty() ? 0 : 3;
  }

  // As handle_forks() does. The status of the child, that waitpid() gives.
  int fork_once() {
    ForkLock::hold_all();
    copy.take(live);
    const pid_t child = fork();
    if (child == 0) {
      copy.put(live);
      ForkLock::release_all();
      alarm(60);  // a lost lock
      _exit(use());
    }
    copy.drop();
    ForkLock::release_all();
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }

  std::string path = "/dev/shm/vramscope-fork-test-XXXXXX";
  int file;
  LiveMemory live;
  LiveCopy copy;
  simulator::SimulatedDevice device{{.capacity = 1024 * kMiB}};
  simulator::SimulatedBackend simulated{device};
  LockedBackend backend{simulated};
  std::unique_ptr<CachingAllocator> allocator;
};

TEST_F(ForkTest, ChildrenAreWholeWhileOthersAllocate) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a child of fork may find the address sanitizer's own allocator locked";
#endif
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (std::size_t n = 0; n < 2; ++n) {
    others.emplace_back([&, n] {
      for (std::size_t i = n; !stop; ++i) call(i % 64 * 4096 + 1);
    });
  }
  for (int i = 0; i < 30; ++i) {
    call(1000);
    EXPECT_EQ(0, fork_once()) << "fork " << i;
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ("", allocator->check_invariants());
}

TEST_F(ForkTest, AChildNeverWritesTheFile) {
  call(1000);
  const auto bytes_in_file = [&] {
    std::vector<std::uint64_t> bytes;
    for (const auto& part : live.header()->bytes) bytes.push_back(part.load());
    return bytes;
  };
  const std::vector<std::uint64_t> before = bytes_in_file();
  const std::string text = allocator->check_invariants();
  EXPECT_EQ(0, fork_once());
  EXPECT_EQ(before, bytes_in_file());
  EXPECT_EQ(0U, live.header()->problem.load());
  EXPECT_EQ(text, allocator->check_invariants());
  EXPECT_EQ(0U, allocator->snapshot().devices.at(0).statistics.allocation.all.current);
}

}  // namespace
}  // namespace vramscope::test
