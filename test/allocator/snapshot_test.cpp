// A snapshot is copied in slices, the lock free between them, and tells of one instant all the
// same.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/snapshot.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "allocator/base/fault.h"
#include "allocator/caching_allocator.h"
#include "test/allocator/recovered_judge.h"
#include "test/allocator/recovered_program.h"
#include "test/simulator/device/simulated_backend.h"
#include "test/simulator/device/simulated_device.h"

namespace vramscope::test {

void PrintTo(const RecoveryMode& mode, std::ostream* out) { *out << mode.name; }

namespace {

// For all tests of this file, before they begin.
bool choose_fault() {
#ifdef VRAMSCOPE_FAULTS
  const char* const name = std::getenv("VRAMSCOPE_FAULT");
#define FAULT(one, text) \
  if (name != nullptr && std::string(name) == #one) chosen_fault = Fault::one;
#include "allocator/base/faults.def"
#endif
  return true;
}
[[maybe_unused]] const bool is_fault_chosen = choose_fault();

struct SlicedSnapshot : testing::TestWithParam<RecoveryMode> {
  // Of random calls, and some more of them between any two slices: how one of so many snapshots
  // differs from that of its first instant; empty: none does.
  [[nodiscard]] std::string play(std::uint64_t seed, int snapshots) {
    log.~ProgramLog();
    new (&log) ProgramLog;
    RecordedProgram program(log, nothing_live, GetParam().limits, seed);
    std::mt19937_64 random(seed);
    const auto step_up_to = [&](std::uint64_t most) {
      for (std::uint64_t step = random() % most; step > 0; --step) program.step();
    };
    for (int i = 0; i < snapshots; ++i) {
      step_up_to(80);
      Snapshot at_once;
      const auto others = [&] {
        ++between;
        step_up_to(8);
      };
      const Snapshot taken = program.allocator().snapshot(
          {.bytes = 1 + random() % 2048, .between = others, .at_once = &at_once});
      if (text_of(taken) != text_of(at_once)) {
        return text_of(taken) + "instead of\n" + text_of(at_once);
      }
      std::string wrong = disagreement(taken);
      if (wrong.empty()) wrong = program.allocator().check_invariants();
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

  LiveMemory nothing_live;
  ProgramLog log;
  unsigned long between = 0;  // any two slices, of all
};

// Everything that calls may change while the copy is under way: segments, blocks, totals, places.
TEST_P(SlicedSnapshot, IsThatOfItsFirstInstant) {
  const char* const wanted = std::getenv("VRAMSCOPE_SEEDS");
  const std::uint64_t seeds = wanted == nullptr ? 12 : std::stoull(wanted);
  constexpr int kSnapshots = 12;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::string wrong = play(seed, kSnapshots);
    if (wrong.empty()) continue;
    // As test/differential/faults.py reads it.
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::printf("found: seed %d, %lu calls, %.1f seconds, in %s:\n", static_cast<int>(seed),
                static_cast<unsigned long>(log.completed.load()), spent.count(), GetParam().name);
    FAIL() << "seed " << seed << ": " << wrong;
  }
  EXPECT_GT(between, seeds * kSnapshots);
}

// Each of two that overlap is that of its own instant.
TEST_P(SlicedSnapshot, MayOverlapAnother) {
  RecordedProgram program(log, nothing_live, GetParam().limits, 5);
  for (int i = 0; i < 300; ++i) program.step();
  Snapshot inner, outer_at_once, inner_at_once;
  int between = 0;
  const auto step = [&] { program.step(); };
  const auto others = [&] {
    program.step();
    if (++between != 2) return;
    inner = program.allocator().snapshot({.bytes = 1, .between = step, .at_once = &inner_at_once});
  };

  const Snapshot outer =
      program.allocator().snapshot({.bytes = 1, .between = others, .at_once = &outer_at_once});

  EXPECT_EQ(text_of(outer), text_of(outer_at_once));
  EXPECT_EQ(text_of(inner), text_of(inner_at_once));
  EXPECT_NE(text_of(inner), text_of(outer));
}

// Memory without end, which is never given back.
class Endless : public Backend {
 public:
  Grant reserve(Place, std::size_t bytes) noexcept override {
    return {.status = {}, .address = next_.fetch_add((bytes + kPage - 1) / kPage * kPage)};
  }
  Reply release(Place, Address) noexcept override { return {}; }
  Reply wait(Place) noexcept override { return {}; }
  Reply probe(Place) noexcept override { return {}; }
  bool may_wait(Place) noexcept override { return true; }
  std::uint64_t total_bytes(Place) noexcept override { return std::uint64_t{1} << 40; }

 private:
  static constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
  std::atomic<Address> next_{0x7f0000000000};
};

// The lock is held for a slice at a time however many blocks there are, of pools or on their own.
TEST(Snapshots, OfAMillionBlocksLetTheProgramInAfterEachSlice) {
#ifdef __SANITIZE_THREAD__
  constexpr int kBlocks = 100'000;  // a million take half a minute
#else
  constexpr int kBlocks = 1'000'000;
#endif
  constexpr std::size_t kSlice = std::size_t{256} << 10;
  constexpr std::size_t kLeastBytesEach = 48;
  Endless backend;
  CachingAllocator allocator(backend, {});
  for (int i = 0; i < kBlocks; ++i) {
    if (i % 4 != 0) {
      ASSERT_TRUE(allocator.allocate({.where = {}, .bytes = 512, .tag = 1}).status.ok());
    } else {
      const Address address = 0x500000000000 + static_cast<Address>(i) * 4096;
      ASSERT_TRUE(allocator.adopt({.kind = Kind::managed}, address, 512, 2).status.ok());
    }
  }
  std::size_t between = 0;
  const auto program = [&] {
    ++between;
    const Outcome out = allocator.allocate({.where = {}, .bytes = 512, .tag = 1});
    ASSERT_TRUE(allocator.free(out.address).status.ok());
  };

  const Snapshot taken = allocator.snapshot({.bytes = kSlice, .between = program});

  EXPECT_GE(between, kBlocks * kLeastBytesEach / kSlice - 1);
  std::size_t live = 0;
  for (const BlockSnapshot& block : taken.blocks) {
    live += block.state == BlockState::active_allocated;
  }
  EXPECT_EQ(live, std::size_t{kBlocks});
  EXPECT_EQ(taken.tags[1].live_count + taken.tags[2].live_count, std::uint64_t{kBlocks});
}

// A thread's calls, one after the other: what it holds after each of them, as a sum that no two
// sets are likely to share, and how many it made.
class LoggedThread {
 public:
  static constexpr std::size_t kCalls = 20'000;

  LoggedThread(CachingAllocator& allocator, Tag tag)
      : allocator_(allocator), tag_(tag), random_(tag), after_(kCalls + 1) {}

  void run() {
    for (std::size_t call = 1; call <= kCalls; ++call) {
      after_[call] = after_[call - 1];
      if (call % 1024 == 0) allocator_.trim();
      Held& held = held_[random_() % held_.size()];
      held.address == 0 ? take(held, after_[call]) : give_up(held, after_[call]);
      completed_.store(call, std::memory_order_release);
    }
  }
  [[nodiscard]] std::size_t completed() const { return completed_.load(std::memory_order_acquire); }

  // After all calls: was this what it had after one of them, from the first to the last?
  [[nodiscard]] bool has_had(const Snapshot& snapshot, std::size_t first, std::size_t last) const {
    State told;
    for (const BlockSnapshot& block : snapshot.blocks) {
      if (block.state != BlockState::active_allocated || block.tag != tag_) continue;
      told.held += sum_of(block.address, block.requested_size);
    }
    if (tag_ < snapshot.tags.size()) told.allocations = snapshot.tags[tag_].total_count;
    for (std::size_t call = first; call <= last && call <= kCalls; ++call) {
      if (after_[call].held == told.held && after_[call].allocations == told.allocations) {
        return true;
      }
    }
    return false;
  }

 private:
  struct Held {
    Address address = 0;
    std::uint64_t bytes = 0;
  };
  struct State {
    std::uint64_t held = 0;
    std::uint64_t allocations = 0;
  };
  static std::uint64_t sum_of(Address address, std::uint64_t bytes) {
    std::uint64_t sum = (address ^ bytes << 20) * 0x9E3779B97F4A7C15;
    sum ^= sum >> 29;
    return sum * 0xBF58476D1CE4E5B9;
  }
  void take(Held& held, State& after) {
    held.bytes = 1 + random_() % (random_() % 16 == 0 ? std::uint64_t{4} << 20 : 8192);
    const Outcome out = allocator_.allocate({.where = {}, .bytes = held.bytes, .tag = tag_});
    held.address = out.address;
    if (!out.status.ok()) return;
    after.held += sum_of(held.address, held.bytes);
    ++after.allocations;
  }
  void give_up(Held& held, State& after) {
    static_cast<void>(allocator_.free(held.address));
    after.held -= sum_of(held.address, held.bytes);
    held.address = 0;
  }

  CachingAllocator& allocator_;
  const Tag tag_;
  std::mt19937_64 random_;
  std::array<Held, 512> held_{};
  std::vector<State> after_;
  std::atomic<std::size_t> completed_{0};
};

// What each thread had at the instant is what it had after one of its calls, and all of it together
// adds up to the counters; also while segments come and go, and pages move.
TEST_P(SlicedSnapshot, WhileThreadsAllocateTellsWhatEachOfThemHad) {
  struct Taken {
    Snapshot snapshot, at_once;
    std::vector<std::size_t> first, last;
  };
  simulator::SimulatedDevice device({.capacity = std::uint64_t{1} << 29});
  simulator::SimulatedBackend backend(device);
  CachingAllocator allocator(backend, GetParam().limits);
  std::vector<std::unique_ptr<LoggedThread>> logs;
  for (Tag tag = 1; tag <= 3; ++tag) {
    allocator.join(tag, {tag});
    logs.push_back(std::make_unique<LoggedThread>(allocator, tag));
  }
  std::vector<std::thread> threads;
  for (const auto& log : logs) threads.emplace_back([&log] { log->run(); });
  const auto calls_of_all = [&] {
    std::vector<std::size_t> calls;
    for (const auto& log : logs) calls.push_back(log->completed());
    return calls;
  };
  const auto are_running = [&] {
    for (const auto& log : logs) {
      if (log->completed() < LoggedThread::kCalls) return true;
    }
    return false;
  };
  std::vector<Taken> all;
  do {
    Taken& one = all.emplace_back();
    one.first = calls_of_all();
    one.snapshot = allocator.snapshot(
        {.bytes = 4096, .between = [] { std::this_thread::yield(); }, .at_once = &one.at_once});
    one.last = calls_of_all();
  } while (are_running() && all.size() < 100);
  for (std::thread& thread : threads) thread.join();

  for (const Taken& one : all) {
    ASSERT_EQ(disagreement(one.snapshot), "");
    ASSERT_EQ(text_of(one.snapshot), text_of(one.at_once));
    for (std::size_t i = 0; i < logs.size(); ++i) {
      ASSERT_TRUE(logs[i]->has_had(one.snapshot, one.first[i], one.last[i] + 1));
    }
  }
  EXPECT_EQ(allocator.check_invariants(), "");
}

INSTANTIATE_TEST_SUITE_P(Modes, SlicedSnapshot, testing::ValuesIn(kRecoveryModes),
                         [](const auto& mode) { return std::string(mode.param.name); });

}  // namespace
}  // namespace vramscope::test
