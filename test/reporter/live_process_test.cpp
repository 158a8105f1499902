// What a live file says of its process when that is dead, and whether it is dead.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "reporter/report/live/live_folder.h"

namespace vramscope {
namespace {

struct LiveProcessTest : testing::Test {
  LiveProcessTest() : file(mkstemp(path.data())) {}
  ~LiveProcessTest() override {
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    close(file);
    unlink(path.c_str());
  }

  // A process with a live file, that does `then` and goes on until it is killed. Its descriptor of
  // the file is closed. Returns when it says so.
  template <class F>
  pid_t start(F&& then) {
    int pipe_ends[2];
    EXPECT_EQ(0, pipe(pipe_ends));
    const pid_t child = fork();
    if (child == 0) {
      static LiveMemory memory;
      static LiveProcess process;
      const int own = open(path.c_str(), O_RDWR | O_CLOEXEC);
      const bool locked = flock(own, LOCK_EX | LOCK_NB) == 0;
      if (memory.begin(own, path.c_str()) != 0) _exit(1);
      if (!process.begin(memory, a_start(locked))) _exit(2);
      std::atomic_ref(memory.header()->magic).store(LiveHeader::kMagic);
      close(own);
      then(process, pipe_ends[1]);
      if (write(pipe_ends[1], "x", 1) != 1) _exit(3);
      for (;;) pause();
    }
    children.push_back(child);
    char said = 0;
    EXPECT_EQ(1, read(pipe_ends[0], &said, 1));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return child;
  }
  static LiveStart a_start(bool locked) {
    LiveStart start;
    start.process.hostname = "node7";
    start.process.executable = "/bin/train";
    start.process.arguments = {"train", "", "--epochs", "3"};
    start.process.rank = 5;
    start.process.local_rank = 1;
    start.process.world_size = 8;
    start.process.restart = 2;
    start.process.job = "4711.0";
    start.process.launcher = "Slurm";
    start.process.report_time_ns = 1'000'000'000'000;
    start.process.mode = "cache";
    start.process.options = {{"mode", "cache"}, {"trace", ""}};
    start.process.cuda_driver_version = 13000;
    start.sample_bytes = 512;
    start.function_names = {"cuInit", "cuMemAlloc_v2"};
    start.next_report = "/runs/vramscope.train.1.json";
    start.clock_ns = 70'000;
    start.is_locked = locked;
    return start;
  }
  void kill_and_wait(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::erase(children, child);
  }
  // The file's pages at their addresses, for this process alone.
  const LiveHeader& image() const {
    std::uint64_t base = 0;
    EXPECT_EQ(8, pread(file, &base, 8, offsetof(LiveHeader, base)));
    LiveHeader* const header = map(base, 0, 4096);
    for (std::size_t i = 1; i < kLiveParts; ++i) {
      if (header->bytes[i] != 0) map(base, i, header->bytes[i]);
    }
    return *header;
  }
  LiveHeader* map(std::uint64_t base, std::size_t part, std::size_t bytes) const {
    const std::uint64_t offset = part * kLivePartBytes;
    void* const at = reinterpret_cast<void*>(base + offset);
    void* const got = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file,
                           static_cast<off_t>(offset));
    EXPECT_EQ(at, got);
    return static_cast<LiveHeader*>(got);
  }
  [[nodiscard]] bool alive() const {
    const auto owner = owner_of(file);
    EXPECT_TRUE(owner.has_value());
    return owner && state_of(file, *owner) == OwnerState::alive;
  }

  std::string path = "/dev/shm/vramscope-live-test-XXXXXX";
  int file;
  std::vector<pid_t> children;
};

TEST_F(LiveProcessTest, TellsOfTheProcessWhenThatWasKilled) {
  const pid_t child = start([](LiveProcess&, int) {});

  kill_and_wait(child);
  const RecoveredProcess found = recover_process(image());

  EXPECT_EQ(child, found.process.pid);
  EXPECT_EQ("node7", found.process.hostname);
  EXPECT_EQ("/bin/train", found.process.executable);
  EXPECT_EQ((std::vector<std::string>{"train", "", "--epochs", "3"}), found.process.arguments);
  EXPECT_EQ(5, found.process.rank);
  EXPECT_EQ(1, found.process.local_rank);
  EXPECT_EQ(8, found.process.world_size);
  EXPECT_EQ(2, found.process.restart);
  EXPECT_EQ("4711.0", found.process.job);
  EXPECT_EQ("Slurm", found.process.launcher);
  EXPECT_EQ("cache", found.process.mode);
  EXPECT_EQ(2U, found.process.options.size());
  EXPECT_EQ(13000, found.process.cuda_driver_version);
  EXPECT_EQ(512U, found.sample_bytes);
  EXPECT_EQ((std::vector<std::string>{"cuInit", "cuMemAlloc_v2"}), found.function_names);
  EXPECT_EQ("", found.trace_path);
  EXPECT_EQ(1U, found.next_sequence);
  EXPECT_EQ("/runs/vramscope.train.1.json", found.next_report);
}

TEST_F(LiveProcessTest, TellsOfDevicesWhatTheyWereLast) {
  const pid_t child = start([](LiveProcess& process, int) {
    DeviceFacts device;
    device.index = 3;
    device.uuid = "GPU-1";
    device.total_bytes = 1000;
    process.add_device(device, 80'000);
    process.change_device(3, 90'000, [](LiveDeviceNumbers& numbers) {
      numbers.free_bytes = 700;
      numbers.free_taken_ns = 85'000;
    });
    process.change_device(2, 95'000, [](LiveDeviceNumbers&) { _exit(4); });  // nobody added it
    process.set_next_report(2, "/runs/vramscope.train.1.2.json");
  });

  kill_and_wait(child);
  const RecoveredProcess found = recover_process(image());

  ASSERT_EQ(1U, found.devices.size());
  EXPECT_EQ(3, found.devices[0].index);
  EXPECT_EQ("GPU-1", found.devices[0].uuid);
  EXPECT_EQ(1000U, found.devices[0].total_bytes);
  EXPECT_EQ(700U, found.devices[0].free_bytes);
  EXPECT_EQ(5'000U, found.devices[0].free_bytes_age_ns);
  EXPECT_EQ(1'000'000'020'000U, found.process.report_time_ns);
  EXPECT_EQ(2U, found.next_sequence);
  EXPECT_EQ("/runs/vramscope.train.1.2.json", found.next_report);
}

// Killed amid a change, it was not changed.
TEST(TwoCopies, AreWholeAtEveryInstant) {
  TwoCopies<std::array<int, 2>> both;
  both.write([](auto& value) { value = {1, 2}; });
  both.write([&](auto& value) {
    EXPECT_EQ((std::array{1, 2}), value);
    value[0] = 3;
    EXPECT_EQ((std::array{1, 2}), both.read());
    value[1] = 4;
  });
  EXPECT_EQ((std::array{3, 4}), both.read());
}

TEST_F(LiveProcessTest, RefusesAnotherVersion) {
  const pid_t child = start([](LiveProcess&, int) {});
  kill_and_wait(child);
  const LiveHeader& header = image();

  auto* const root = static_cast<LiveProcessRoot*>(const_cast<void*>(header.process.load()));
  ++root->layout;

  EXPECT_THROW(static_cast<void>(recover_process(header)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(recover_process(LiveHeader())), std::runtime_error);
}

// No descriptor is needed for that: daemons close them all.
TEST_F(LiveProcessTest, IsAliveAsLongAsItIs) {
  const pid_t child = start([](LiveProcess&, int) {});
  EXPECT_TRUE(alive());

  kill_and_wait(child);

  EXPECT_FALSE(alive());
}

TEST_F(LiveProcessTest, ItsChildrenDoNotKeepItAlive) {
  pid_t* const grandchild = static_cast<pid_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = start([&](LiveProcess&, int) {
    const pid_t made = fork();
    while (made == 0) pause();
    *grandchild = made;
  });

  kill_and_wait(child);

  ASSERT_LT(0, *grandchild);
  EXPECT_EQ(0, kill(*grandchild, 0));
  EXPECT_EQ(0, flock(file, LOCK_SH | LOCK_NB));
  EXPECT_EQ(0, flock(file, LOCK_UN));
  EXPECT_FALSE(alive());
  kill(*grandchild, SIGKILL);
  munmap(grandchild, 4096);
}

// The same process, which started at the same time, and nothing of it is left in its memory.
TEST_F(LiveProcessTest, IsDeadOnceItExecutesAnotherProgram) {
  const pid_t child = start([](LiveProcess&, int said) {
    dup2(said, STDOUT_FILENO);
    execlp("sh", "sh", "-c", "printf x; exec sleep 60", nullptr);
  });

  EXPECT_EQ(0, kill(child, 0));
  EXPECT_FALSE(alive());
}

TEST_F(LiveProcessTest, WhoeverStartedLaterIsAnother) {
  static_cast<void>(start([](LiveProcess&, int) {}));
  LiveOwner owner = *owner_of(file);
  owner.is_locked = 0;
  EXPECT_EQ(OwnerState::alive, state_of(file, owner));

  ++owner.start_ticks;

  EXPECT_EQ(OwnerState::dead, state_of(file, owner));
}

// Proved dead is not what cannot be told: another machine shows its file systems, containers have
// boot ids, process ids and clocks of their own.
TEST_F(LiveProcessTest, WhatIsElsewhereCannotBeTold) {
  kill_and_wait(start([](LiveProcess&, int) {}));
  const LiveOwner owner = *owner_of(file);
  LiveOwner unlocked = owner;
  unlocked.is_locked = 0;
  EXPECT_EQ(OwnerState::dead, state_of(file, unlocked));

  LiveOwner other_boot = owner;
  other_boot.boot_id[0] = other_boot.boot_id[0] == '0' ? '1' : '0';
  EXPECT_EQ(OwnerState::untold, state_of(file, other_boot));
  LiveOwner no_boot = owner;
  no_boot.boot_id = {};
  EXPECT_EQ(OwnerState::untold, state_of(file, no_boot));
  LiveOwner other_numbers = unlocked;
  ++other_numbers.pid_namespace;
  EXPECT_EQ(OwnerState::untold, state_of(file, other_numbers));
  LiveOwner no_number = unlocked;
  no_number.pid = 0;
  EXPECT_EQ(OwnerState::untold, state_of(file, no_number));
}

TEST_F(LiveProcessTest, ALockTellsOfContainersOfThisMachine) {
  const pid_t child = start([](LiveProcess&, int) {});
  LiveOwner owner = *owner_of(file);
  ++owner.pid_namespace;
  EXPECT_EQ(OwnerState::alive, state_of(file, owner));

  kill_and_wait(child);

  EXPECT_EQ(OwnerState::dead, state_of(file, owner));
}

TEST_F(LiveProcessTest, AClockOfItsOwnSaysNothingOfTheStart) {
  static_cast<void>(start([](LiveProcess&, int) {}));
  LiveOwner owner = *owner_of(file);
  owner.is_locked = 0;

  ++owner.start_ticks;
  ++owner.time_namespace;

  EXPECT_EQ(OwnerState::alive, state_of(file, owner));
}

TEST_F(LiveProcessTest, WhatIsNoLiveFileHasNoOwner) {
  EXPECT_FALSE(owner_of(file).has_value());  // empty
  const std::array<std::uint64_t, 512> wrong = {
      LiveHeader::kMagic, LiveHeader::kFormat, 0, 0, 0, 0, ~0ULL};
  ASSERT_EQ(4096, write(file, wrong.data(), 4096));
  EXPECT_FALSE(owner_of(file).has_value());  // its root lies nowhere
}

// Whoever keeps another user's variables (sudo -E) makes nothing in that user's folder.
TEST(LiveFolder, IsNotInAnotherUsersRuntimeFolder) {
  std::string runtime = "/dev/shm/vramscope-folder-test-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(runtime.data()));
  EXPECT_EQ(2u, live_folders(runtime).size());
  EXPECT_EQ(1u, live_folders("").size());
  EXPECT_EQ(1u, live_folders(runtime + "/none").size());
  chmod(runtime.c_str(), 0722);
  EXPECT_EQ(1u, live_folders(runtime).size());
  chmod(runtime.c_str(), 0700);
  if (geteuid() == 0) {
    ASSERT_EQ(0, chown(runtime.c_str(), 12345, 0));
    EXPECT_EQ(1u, live_folders(runtime).size());
  }
  rmdir(runtime.c_str());
}

TEST(LiveFolder, IsPrivateOrRefused) {
  std::string outer = "/dev/shm/vramscope-folder-test-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(outer.data()));
  const std::string folder = outer + "/own";
  EXPECT_EQ(0, make_private_folder(folder));
  EXPECT_EQ(0, make_private_folder(folder));
  chmod(folder.c_str(), 0755);
  EXPECT_EQ(EPERM, make_private_folder(folder));
  chmod(folder.c_str(), 0700);
  const std::string link = outer + "/link";
  ASSERT_EQ(0, symlink(folder.c_str(), link.c_str()));
  EXPECT_EQ(ELOOP, make_private_folder(link));
  EXPECT_EQ(ENOENT, make_private_folder(outer + "/none/own"));
  const int opened = open_private_folder(folder);
  struct stat by_name {
  }, by_number{};
  ASSERT_EQ(0, fstat(opened, &by_number));
  ASSERT_EQ(0, stat(folder.c_str(), &by_name));
  EXPECT_EQ(by_name.st_ino, by_number.st_ino);
  close(opened);
  EXPECT_EQ(-ELOOP, open_private_folder(link));
  if (geteuid() == 0) {
    ASSERT_EQ(0, chown(folder.c_str(), 12345, 0));
    EXPECT_EQ(EPERM, make_private_folder(folder));
  }
  unlink(link.c_str());
  rmdir(folder.c_str());
  rmdir(outer.c_str());
}

}  // namespace
}  // namespace vramscope
