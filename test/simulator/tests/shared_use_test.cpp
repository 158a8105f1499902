// Several processes on one device.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <cerrno>
#include <csignal>

#include <string>

#include "test/simulator/tests/process_fixture.h"

namespace vramscope::simulator {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class SharedUse : public testing::Test {
 protected:
  ~SharedUse() override { unlink(path_.c_str()); }

  std::string settings() const { return "capacity=64MiB,context_bytes=0,shared=" + path_; }

  const std::string path_ = testing::TempDir() + "vramscope-shared-" + std::to_string(getpid());
};

std::size_t free_bytes() {
  std::size_t free = 0;
  CALL(cuMemGetInfo_v2)(&free, nullptr);
  return free;
}

CUresult allocate(std::size_t bytes, CUdeviceptr* pointer) {
  return CALL(cuMemAlloc_v2)(pointer, bytes);
}

// Until the process has ended, whether or not its parent has waited for it.
bool wait_for_end(pid_t process) {
  pollfd end = {static_cast<int>(syscall(SYS_pidfd_open, process, 0)), POLLIN, 0};
  return end.fd < 0 ? errno == ESRCH : poll(&end, 1, -1) == 1;
}

TEST_F(SharedUse, CountsWhatOtherProcessesHold) {
  const TwoProcesses both(
      settings().c_str(),
      [](const Peer& other) {
        CUdeviceptr memory = 0;
        REQUIRE(allocate(40 * kMiB, &memory) == CUDA_SUCCESS);
        REQUIRE(free_bytes() == 24 * kMiB);
        other.signal();
        other.await();
        CALL(cuMemFree_v2)(memory);
        other.signal();
        other.await();
        return 0;
      },
      [](const Peer& other) {
        CUdeviceptr memory = 0;
        other.await();
        REQUIRE(free_bytes() == 24 * kMiB);
        REQUIRE(allocate(25 * kMiB, &memory) == CUDA_ERROR_OUT_OF_MEMORY);
        REQUIRE(free_bytes() == 24 * kMiB);
        REQUIRE(allocate(24 * kMiB, &memory) == CUDA_SUCCESS);
        REQUIRE(free_bytes() == 0);
        other.signal();
        other.await();
        REQUIRE(free_bytes() == 40 * kMiB);
        other.signal();
        return 0;
      });

  both.expect_success();
}

TEST_F(SharedUse, GivesTheBytesOfAKilledProcessBack) {
  const TwoProcesses both(
      settings().c_str(),
      [](const Peer& other) {
        CUdeviceptr memory = 0;
        REQUIRE(allocate(40 * kMiB, &memory) == CUDA_SUCCESS);
        other.send(getpid());
        other.await();
        return 0;
      },
      [](const Peer& other) {
        const auto process = other.receive<pid_t>();
        REQUIRE(free_bytes() == 24 * kMiB);
        kill(process, SIGKILL);
        REQUIRE(wait_for_end(process));
        REQUIRE(free_bytes() == 64 * kMiB);
        return 0;
      });

  EXPECT_EQ(result_of_process(both.first), -SIGKILL);
  EXPECT_EQ(result_of_process(both.second), 0);
}

TEST_F(SharedUse, GivesTheBytesOfAnotherProgramBack) {
  const TwoProcesses both(
      settings().c_str(),
      [](const Peer& other) {
        CUdeviceptr memory = 0;
        REQUIRE(allocate(40 * kMiB, &memory) == CUDA_SUCCESS);
        other.send(getpid());
        other.await();
        execl("/bin/sleep", "sleep", "1000", nullptr);
        return 1;
      },
      [](const Peer& other) {
        const auto process = other.receive<pid_t>();
        REQUIRE(free_bytes() == 24 * kMiB);
        other.signal();
        while (free_bytes() != 64 * kMiB) usleep(1000);  // nothing tells when exec is through
        kill(process, SIGKILL);
        return 0;
      });

  EXPECT_EQ(result_of_process(both.first), -SIGKILL);
  EXPECT_EQ(result_of_process(both.second), 0);
}

CUuuid uuid_of_device() {
  CUuuid uuid = {};
  CALL(cuDeviceGetUuid)(&uuid, 0);
  return uuid;
}

// By its UUID processes know that they use one device (Vramscope tells siblings so).
TEST_F(SharedUse, GivesADeviceItsOwnUuid) {
  const TwoProcesses both(
      settings().c_str(),
      [](const Peer& other) {
        other.send(uuid_of_device());
        other.await();
        return 0;
      },
      [](const Peer& other) {
        const CUuuid mine = uuid_of_device();
        const auto theirs = other.receive<CUuuid>();
        REQUIRE(std::memcmp(&mine, &theirs, sizeof mine) == 0);
        REQUIRE(std::memcmp(mine.bytes, "vramscope-sim", 13) !=
                0);  // of a device that is not shared
        other.signal();
        return 0;
      });

  both.expect_success();
}

TEST_F(SharedUse, LeavesFilesOfOthersAlone) {
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(write(file, "mine", 4), 4);

  const TwoProcesses both(
      settings().c_str(),
      [](const Peer& other) {
        CUdeviceptr memory = 0;
        REQUIRE(allocate(40 * kMiB, &memory) == CUDA_SUCCESS);
        other.signal();
        other.await();
        return 0;
      },
      [](const Peer& other) {
        other.await();
        REQUIRE(free_bytes() == 64 * kMiB);
        other.signal();
        return 0;
      });

  both.expect_success();
  struct stat facts = {};
  fstat(file, &facts);
  EXPECT_EQ(facts.st_size, 4);
  close(file);
}

}  // namespace
}  // namespace vramscope::simulator
