// Notes about contexts, as other processes find them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "interpose/driver/peer_processes.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

const std::string kNoRuntimeFolder;

// A device that no other process knows.
std::string device_of_test() { return "GPU-of-test-" + std::to_string(getpid()); }

// Another process of the device, from its announcement on until it is let go.
class Peer {
 public:
  Peer(const std::string& uuid, const std::function<void(PeerProcesses&)>& body) {
    EXPECT_EQ(pipe(said_), 0);
    EXPECT_EQ(pipe(asked_), 0);
    pid_ = fork();
    if (pid_ == 0) {
      PeerProcesses own(kNoRuntimeFolder);
      own.announce(0, uuid, 0);
      body(own);
      char byte = 0;
      _exit(write(said_[1], "x", 1) == 1 && read(asked_[0], &byte, 1) == 1 ? 0 : 1);
    }
    char byte = 0;
    EXPECT_EQ(read(said_[0], &byte, 1), 1);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { end(); }
  void end() {
    if (pid_ == 0) return;
    EXPECT_EQ(write(asked_[1], "x", 1), 1);
    int status = 1;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    EXPECT_EQ(status, 0);
    for (const int file : {said_[0], said_[1], asked_[0], asked_[1]}) close(file);
    pid_ = 0;
  }

 private:
  int said_[2] = {}, asked_[2] = {};
  pid_t pid_ = 0;
};

void nothing_more(PeerProcesses&) {}

TEST(PeerProcesses, CountsThoseThatAreThere) {
  const std::string uuid = device_of_test();
  PeerProcesses own(kNoRuntimeFolder);
  Peer first(uuid, nothing_more);
  Peer second(uuid, nothing_more);

  own.announce(0, uuid, 0);

  EXPECT_EQ(own.made_since(0), 3u);
  first.end();
  EXPECT_EQ(own.made_since(0), 2u);
  second.end();
  EXPECT_EQ(own.made_since(0), 1u);
}

// What they have was in use before, and is in no difference.
TEST(PeerProcesses, CountsNoneThatWereThereBefore) {
  const std::string uuid = device_of_test();
  PeerProcesses own(kNoRuntimeFolder);
  const Peer first(uuid, nothing_more);

  own.announce(0, uuid, 300 * kMiB);

  EXPECT_EQ(own.made_since(0), 1u);
}

TEST(PeerProcesses, CountsNoneOfOtherDevices) {
  PeerProcesses own(kNoRuntimeFolder);
  const Peer first(device_of_test() + "-other", nothing_more);

  own.announce(0, device_of_test(), 0);

  EXPECT_EQ(own.made_since(0), 1u);
}

TEST(PeerProcesses, KnowsTheLeastThatAnyTold) {
  const std::string uuid = device_of_test();
  PeerProcesses own(kNoRuntimeFolder);
  own.announce(0, uuid, 0);
  EXPECT_EQ(own.least_taken(0), std::nullopt);

  own.tell(0, 500 * kMiB);
  const Peer less(uuid, [](PeerProcesses& its) { its.tell(0, 299 * kMiB); });
  const Peer more(uuid, [](PeerProcesses& its) { its.tell(0, 400 * kMiB); });

  EXPECT_EQ(own.least_taken(0), 300 * kMiB);
  EXPECT_EQ(own.made_since(0), 3u);
}

// A process that has ended its context, and a child of it, count as nobody.
TEST(PeerProcesses, ForgetsWhoWithdrewAndWhoWasForked) {
  const std::string uuid = device_of_test();
  PeerProcesses own(kNoRuntimeFolder);
  own.announce(0, uuid, 0);
  own.tell(0, 100 * kMiB);
  PeerProcesses looking(kNoRuntimeFolder);
  looking.announce(1, uuid, 0);
  EXPECT_EQ(looking.least_taken(1), 100 * kMiB);

  int held[2];
  ASSERT_EQ(pipe(held), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(held[1]);
    _exit(read(held[0], &byte, 1) == 0 ? 0 : 1);
  }
  own.withdraw(0);

  EXPECT_EQ(looking.least_taken(1), std::nullopt);
  close(held[0]);
  close(held[1]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

// The program could count it, or close it.
TEST(PeerProcesses, LeavesNoDescriptorOpen) {
  const int before = dup(0);
  close(before);
  PeerProcesses own(kNoRuntimeFolder);
  own.announce(0, device_of_test(), 0);
  own.tell(0, 100 * kMiB);
  ASSERT_EQ(own.least_taken(0), 100 * kMiB);

  const int after = dup(0);
  close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace vramscope
