// What a process has is read from its live file while four of its threads allocate and free: every
// number is one that existed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "allocator/base/size_policy.h"
#include "allocator/recovery.h"
#include "test/allocator/recovered_program.h"

namespace vramscope::test {

void PrintTo(const RecoveryMode& mode, std::ostream* out) { *out << mode.name; }

namespace {

constexpr Place kDevice{.kind = Kind::device, .device = 0, .context = 0};
constexpr Tag kSteady = 20;  // what is allocated before the threads begin and stays
constexpr std::uint64_t kSteadyBlocks = 50;
constexpr std::uint64_t kSteadyBytes = 700 * kKiB;
constexpr std::uint64_t kThreads = 4;
constexpr std::uint64_t kHeld = 3;  // blocks of each thread at a time
constexpr std::uint64_t kMostUnits = 900;

constexpr Tag tag_of(std::uint64_t thread) { return static_cast<Tag>(1 + thread); }
// Each thread asks for multiples of a number of its own, so that bytes of another are noticed.
constexpr std::uint64_t unit_of(std::uint64_t thread) {
  constexpr std::array<std::uint64_t, kThreads> kPrimes{1009, 2003, 3001, 4001};
  return kPrimes[thread];
}

void work(CachingAllocator& allocator, std::uint64_t thread, const std::atomic<bool>& ends) {
  std::mt19937_64 random(thread);
  std::array<Address, kHeld> held{};
  while (!ends.load(std::memory_order_relaxed)) {
    Address& slot = held[random() % kHeld];
    if (slot != 0) {
      static_cast<void>(allocator.free(slot, CachingAllocator::Wait::now));
      slot = 0;
      continue;
    }
    const std::uint64_t bytes = unit_of(thread) * (1 + random() % kMostUnits);
    const Outcome out =
        allocator.allocate({.where = kDevice, .bytes = bytes, .tag = tag_of(thread)});
    if (out.status.ok()) slot = out.address;
  }
}

// In pages that both processes have.
struct Signs {
  std::atomic<bool> ready{false}, ends{false}, rests{false}, leaves{false};
};

void run_threads(RecordedProgram& program, Signs& signs) {
  CachingAllocator& allocator = program.allocator();
  for (std::uint64_t i = 0; i < kSteadyBlocks; ++i) {
    const Outcome out =
        allocator.allocate({.where = kDevice, .bytes = kSteadyBytes, .tag = kSteady});
    if (!out.status.ok()) _exit(1);
  }
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { work(allocator, i, signs.ends); });
  }
  signs.ready = true;
  for (std::thread& one : threads) one.join();
  signs.rests = true;
  while (!signs.leaves) std::this_thread::yield();
}

// A copy of the file where the process had it, made anew each time.
class CopiedImage {
 public:
  explicit CopiedImage(int file) : file_(file) {}
  ~CopiedImage() { forget(); }
  CopiedImage(const CopiedImage&) = delete;
  CopiedImage& operator=(const CopiedImage&) = delete;

  const LiveHeader& copy() {
    forget();
    alignas(LiveHeader) std::array<std::byte, sizeof(LiveHeader)> bytes{};
    EXPECT_EQ(pread(file_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    const auto& header = *std::launder(reinterpret_cast<const LiveHeader*>(bytes.data()));
    base_ = header.base;
    for (std::size_t i = 0; i < kLiveParts; ++i) copy_part(i, header.bytes[i].load());
    return *reinterpret_cast<const LiveHeader*>(base_);
  }
  // Reads large records in many steps, between which the threads run, as if there were many more.
  [[nodiscard]] ReadNow reader() const {
    return [this](void* to, std::uint64_t address, std::size_t bytes) {
      constexpr std::size_t kStep = 4096;
      for (std::size_t done = 0; done < bytes; done += kStep) {
        const std::size_t some = std::min(kStep, bytes - done);
        const auto at = static_cast<off_t>(address - base_ + done);
        if (done != 0) std::this_thread::yield();
        if (pread(file_, static_cast<std::byte*>(to) + done, some, at) !=
            static_cast<ssize_t>(some)) {
          return false;
        }
      }
      return true;
    };
  }

 private:
  void copy_part(std::size_t part, std::uint64_t bytes) {
    if (bytes == 0) return;
    const std::uint64_t offset = part * kLivePartBytes;
    void* const at = mmap(reinterpret_cast<void*>(base_ + offset), bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    mapped_.push_back({at, bytes});
    ASSERT_EQ(pread(file_, at, bytes, static_cast<off_t>(offset)), static_cast<ssize_t>(bytes));
  }
  void forget() {
    for (const Mapped& one : mapped_) munmap(one.at, one.bytes);
    mapped_.clear();
  }
  struct Mapped {
    void* at;
    std::uint64_t bytes;
  };
  int file_;
  std::uint64_t base_ = 0;
  std::vector<Mapped> mapped_;
};

Snapshot read_moving(CopiedImage& image) {
  const MovingMemory memory(image.copy(), image.reader());
  return memory.snapshot(image.copy());
}

std::uint64_t sum_of_tags(const Snapshot& snapshot) {
  std::uint64_t sum = 0;
  for (const TagTotals& tag : snapshot.tags) sum += tag.live_bytes;
  return sum;
}

void expect_true(const Snapshot& snapshot) {
  ASSERT_EQ(snapshot.kinds.size(), 1U);
  ASSERT_EQ(snapshot.devices.size(), 1U);
  const KindTotals& kind = snapshot.kinds[0];
  const Stat& requested = snapshot.devices[0].statistics.requested_bytes.all;
  std::uint64_t most = kSteadyBlocks * kSteadyBytes;
  for (std::uint64_t i = 0; i < kThreads; ++i) most += kHeld * kMostUnits * unit_of(i);
  EXPECT_GE(kind.current_bytes, kSteadyBlocks * kSteadyBytes);
  EXPECT_LE(kind.current_bytes, most);
  EXPECT_LE(kind.peak_bytes, most);
  EXPECT_LE(kind.current_bytes, kind.peak_bytes);
  EXPECT_LE(static_cast<std::uint64_t>(requested.current), most);
  EXPECT_LE(sum_of_tags(snapshot), kind.current_bytes);
  ASSERT_GT(snapshot.tags.size(), kSteady);
  EXPECT_EQ(snapshot.tags[kSteady].live_bytes, kSteadyBlocks * kSteadyBytes);
  EXPECT_EQ(snapshot.tags[kSteady].live_count, kSteadyBlocks);
  for (std::uint64_t i = 0; i < kThreads; ++i) {
    const TagTotals tag = snapshot.tags[tag_of(i)];
    EXPECT_LE(tag.live_count, kHeld);
    EXPECT_LE(tag.live_bytes, tag.live_count * kMostUnits * unit_of(i));
    EXPECT_EQ(tag.live_bytes % unit_of(i), 0U) << "thread " << i;
  }
}

// Whether both totals of requested bytes are of one instant between two calls.
bool agrees(const Snapshot& snapshot) {
  const std::int64_t requested = snapshot.devices[0].statistics.requested_bytes.all.current;
  return static_cast<std::uint64_t>(requested) == snapshot.kinds[0].current_bytes;
}

struct Moving : testing::TestWithParam<RecoveryMode> {};

TEST_P(Moving, FourThreadsThatAllocateAreReadWithoutContradiction) {
  constexpr int kReadings = 60;
  void* const pages =
      mmap(nullptr, sizeof(Signs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto& signs = *new (pages) Signs;
  DyingProcess process{GetParam().limits};
  const pid_t child =
      process.start(1, [&](RecordedProgram& program) { run_threads(program, signs); });
  while (!signs.ready && waitpid(child, nullptr, WNOHANG) == 0) std::this_thread::yield();
  ASSERT_TRUE(signs.ready);

  CopiedImage image(process.file());
  int apart = 0;
  for (int i = 0; i < kReadings && !HasFailure(); ++i) {
    const Snapshot snapshot = read_moving(image);
    expect_true(snapshot);
    apart += !agrees(snapshot);
  }
  signs.ends = true;
  while (!signs.rests && waitpid(child, nullptr, WNOHANG) == 0) std::this_thread::yield();
  const Snapshot at_rest = read_moving(image);
  signs.leaves = true;
  int status = 0;
  waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
  EXPECT_LT(apart, kReadings);  // a thread may stand still within a call, on a busy machine often
  expect_true(at_rest);
  EXPECT_TRUE(agrees(at_rest));
  EXPECT_EQ(sum_of_tags(at_rest), at_rest.kinds[0].current_bytes);
  munmap(pages, sizeof(Signs));
}

INSTANTIATE_TEST_SUITE_P(Modes, Moving, testing::ValuesIn(kRecoveryModes),
                         [](const auto& mode) { return std::string(mode.param.name); });

}  // namespace
}  // namespace vramscope::test
