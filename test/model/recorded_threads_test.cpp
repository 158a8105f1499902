// Many threads on one allocator and one recorder: whatever the axis, the sums are the totals.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "allocator/caching_allocator.h"
#include "reporter/record/recorder.h"
#include "reporter/record/trace/trace.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "test/reporter/told_totals.h"
#include "test/reporter/trace_store.h"
#include "test/simulator/device/simulated_backend.h"

namespace vramscope {
namespace {

constexpr int kThreads = 24;
#ifdef __SANITIZE_THREAD__
constexpr int kCalls = 1000;  // of each thread, which cost twenty times as much there
#else
constexpr int kCalls = 4000;  // of each thread
#endif
constexpr std::uint16_t kAllocate = 1, kFree = 2, kPin = 3, kUnpin = 4;
constexpr std::size_t kFunctions = 5;
constexpr std::array<Place, 3> kPlaces = {Place{Kind::device, 0, 0}, Place{Kind::device, 1, 1},
                                          Place{Kind::pinned, 0, 0}};

// Blocks that any thread may free: most are freed by another one than took them.
class Shared {
 public:
  void put(Address block) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(block);
  }
  Address take(std::uint64_t random) {
    const std::lock_guard lock(mutex_);
    if (blocks_.empty()) return 0;
    std::swap(blocks_[random % blocks_.size()], blocks_.back());
    const Address block = blocks_.back();
    blocks_.pop_back();
    return block;
  }

 private:
  std::mutex mutex_;
  std::vector<Address> blocks_;
};

// What all threads did, by their own account.
struct Done {
  std::atomic<std::uint64_t> allocations{0}, bytes{0}, frees{0}, freed_bytes{0};
};

struct Program {
  CachingAllocator& allocator;
  Recorder& recorder;
  Shared& shared;
  std::array<Done, kPlaces.size()>& done;
  std::array<Done, kPlaces.size()>& own;  // this thread's
  std::uint64_t random;

  std::uint64_t next() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  }

  void record(const Outcome& outcome, std::uint16_t function, Effect effect) {
    recorder.record({.function = function,
                     .effect = effect,
                     .served = outcome.source == Source::hit ? Served::hit : Served::driver,
                     .failed = !outcome.status.ok(),
                     .change = !outcome.status.ok() ? MemoryChange::none
                               : effect == Effect::allocate || effect == Effect::pin
                                   ? MemoryChange::came
                                   : MemoryChange::went,
                     .place = outcome.where,
                     .tag = outcome.tag,
                     .address = outcome.address,
                     .bytes = outcome.requested,
                     .total_ns = 10,
                     .driver_ns = 1,
                     .serial = outcome.serial});
  }

  void allocate() {
    const Place where = kPlaces[next() % kPlaces.size()];
    Stack stack;
    for (std::uintptr_t i = 0; i < 3; ++i) stack.frames[stack.depth++] = 100 * i + next() % 5;
    const std::uint64_t bytes = 1 + next() % (1ull << (4 + next() % 18));
    const bool pins = where.kind == Kind::pinned;
    const Tag tag = recorder.intern(stack, {.place = where,
                                            .function = pins ? kPin : kAllocate,
                                            .size_class = size_class_of(bytes),
                                            .thread = recorder.current_thread(),
                                            .stream = static_cast<std::uint32_t>(next() % 3),
                                            .range = static_cast<std::uint32_t>(next() % 3)});
    const Outcome outcome = allocator.allocate({.where = where, .bytes = bytes, .tag = tag});
    record(outcome, pins ? kPin : kAllocate, pins ? Effect::pin : Effect::allocate);
    if (!outcome.status.ok()) return;
    for (auto* accounts : {&done, &own}) {
      Done& account = (*accounts)[static_cast<std::size_t>(pins ? 2 : where.device)];
      account.allocations += 1;
      account.bytes += bytes;
    }
    shared.put(outcome.address);
  }

  void release() {
    const Address block = shared.take(next());
    if (block == 0) return;
    const Outcome outcome = allocator.free(block);
    const bool pins = outcome.where.kind == Kind::pinned;
    record(outcome, pins ? kUnpin : kFree, pins ? Effect::unpin : Effect::release);
    Done& account = done[static_cast<std::size_t>(pins ? 2 : outcome.where.device)];
    account.frees += 1;
    account.freed_bytes += outcome.requested;
  }

  void run() {
    recorder.enter();
    for (int i = 0; i < kCalls; ++i) {
      if (next() % 500 == 0) allocator.trim();
      next() % 8 < 5 ? allocate() : release();
    }
  }
};

class RecordedThreads : public testing::Test {
 protected:
  void SetUp() override {
    auto store = std::make_unique<TraceStore>();
    store_ = store.get();
    recorder_.traces().keep(std::make_unique<Trace>(std::move(store), Trace::Bell{}));
    const auto join = [](void* allocator, Tag tag, const Groups& groups) {
      static_cast<CachingAllocator*>(allocator)->join(tag, groups);
    };
    recorder_.call_for_tags({.function = join, .context = &allocator_});
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([this, i] {
        numbers_[i] = recorder_.current_thread();
        Program{allocator_, recorder_, shared_, done_, own_[i], 88172645463325252u + i}.run();
      });
    }
    for (int i = 0; i < 20; ++i) {  // reports are taken while the program runs
      static_cast<void>(allocator_.snapshot());
      static_cast<void>(recorder_.facts());
      recorder_.trace()->write_events();
    }
    for (std::thread& thread : threads) thread.join();
    memory_ = allocator_.snapshot();
    facts_ = recorder_.facts();
    recorder_.trace()->write_events();
  }

  [[nodiscard]] std::uint64_t live_bytes(std::size_t place) const {
    return done_[place].bytes - done_[place].freed_bytes;
  }
  [[nodiscard]] static bool is_at(std::size_t place, const Place& where) {
    return where.kind == kPlaces[place].kind && where.device == kPlaces[place].device;
  }

  simulator::SimulatedDevice device_;
  simulator::SimulatedBackend backend_{device_};
  CachingAllocator allocator_{backend_, {}};
  Recorder recorder_{kFunctions};
  TraceStore* store_ = nullptr;  // of the recorder's trace
  Shared shared_;
  std::array<Done, kPlaces.size()> done_;
  std::array<std::array<Done, kPlaces.size()>, kThreads> own_;
  std::array<std::uint32_t, kThreads> numbers_{};  // the threads' values of their axis
  Snapshot memory_;
  RecorderFacts facts_;
};

TEST_F(RecordedThreads, FunctionsCountEveryCallOnce) {
  EXPECT_EQ(facts_.functions[kAllocate].calls, done_[0].allocations + done_[1].allocations);
  EXPECT_EQ(facts_.functions[kFree].calls, done_[0].frees + done_[1].frees);
  EXPECT_EQ(facts_.functions[kPin].calls, done_[2].allocations);
  EXPECT_EQ(facts_.functions[kUnpin].calls, done_[2].frees);
  for (const FunctionTotals& function : facts_.functions) {
    EXPECT_EQ(function.failures, 0u);
    EXPECT_EQ(function.time.total_ns, 10 * function.calls);
  }
}

TEST_F(RecordedThreads, TimesOfADeviceCountEveryCallOnce) {
  ASSERT_EQ(facts_.devices.size(), 2u);
  for (const auto& [device, timing] : facts_.devices) {
    const Done& done = done_[device];
    EXPECT_EQ(timing.alloc_hit.count + timing.alloc_driver.count, done.allocations);
    EXPECT_EQ(timing.free_hit.count + timing.free_driver.count, done.frees);
  }
  EXPECT_EQ(facts_.host.alloc_hit.count + facts_.host.alloc_driver.count, done_[2].allocations);
}

TEST_F(RecordedThreads, SitesHoldWhatTheirPlaceHolds) {
  for (std::size_t place = 0; place < kPlaces.size(); ++place) {
    std::uint64_t live = 0, total = 0, count = 0;
    for (Tag tag = 0; tag < memory_.tags.size(); ++tag) {
      if (!is_at(place, facts_.tags.at(tag).place)) continue;
      live += memory_.tags[tag].live_bytes;
      total += memory_.tags[tag].total_bytes;
      count += memory_.tags[tag].total_count;
    }
    EXPECT_EQ(live, live_bytes(place));
    EXPECT_EQ(total, done_[place].bytes);
    EXPECT_EQ(count, done_[place].allocations);
  }
}

// By (axis, value, place): a group has one of each.
struct Sums {
  std::uint64_t live = 0, total = 0, count = 0, group_peak = 0;
};

TEST_F(RecordedThreads, EveryAxisAddsUpAndEveryThreadHasItsOwn) {
  for (std::size_t place = 0; place < kPlaces.size(); ++place) {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      std::map<std::uint32_t, Sums> values;
      for (Tag tag = 1; tag < memory_.tags.size(); ++tag) {
        const TagFact& fact = facts_.tags.at(tag);
        if (!is_at(place, fact.place)) continue;
        Sums& sums = values[fact.values[axis]];
        sums.live += memory_.tags[tag].live_bytes;
        sums.total += memory_.tags[tag].total_bytes;
        sums.count += memory_.tags[tag].total_count;
        if (fact.groups[axis] != 0) sums.group_peak = memory_.group_peaks.at(fact.groups[axis]);
      }
      Sums all;
      for (const auto& [value, sums] : values) {
        all.live += sums.live;
        all.total += sums.total;
        all.count += sums.count;
        const bool is_counted = sums.group_peak != 0;  // no stream and no range are not
        if (is_counted) {
          EXPECT_GE(sums.group_peak, sums.live);
          EXPECT_LE(sums.group_peak, sums.total);
        }
      }
      EXPECT_EQ(all.live, live_bytes(place));
      EXPECT_EQ(all.total, done_[place].bytes);
      EXPECT_EQ(all.count, done_[place].allocations);
      if (axis != static_cast<std::size_t>(Axis::thread)) continue;
      for (std::size_t thread = 0; thread < kThreads; ++thread) {
        EXPECT_EQ(values[numbers_[thread]].count, own_[thread][place].allocations);
        EXPECT_EQ(values[numbers_[thread]].total, own_[thread][place].bytes);
      }
    }
  }
}

TEST_F(RecordedThreads, SitesTookAllTheTime) {
  std::uint64_t total_ns = 0;
  for (const TagFact& tag : facts_.tags) total_ns += tag.total_ns;

  EXPECT_EQ(total_ns, 10 * (done_[0].allocations + done_[1].allocations + done_[2].allocations));
}

TEST_F(RecordedThreads, BlocksAndKindsHoldWhatTheirPlaceHolds) {
  for (std::size_t place = 0; place < kPlaces.size(); ++place) {
    std::uint64_t in_blocks = 0, in_kinds = 0;
    for (const SegmentSnapshot& segment : memory_.segments) {
      if (is_at(place, segment.place)) in_blocks += segment.requested_size;
    }
    for (const KindTotals& kind : memory_.kinds) {
      if (kind.kind != kPlaces[place].kind || kind.device != kPlaces[place].device) continue;
      in_kinds += kind.current_bytes;
      EXPECT_EQ(kind.allocations, done_[place].allocations);
      EXPECT_EQ(kind.frees, done_[place].frees);
    }
    EXPECT_EQ(in_blocks, live_bytes(place));
    EXPECT_EQ(in_kinds, live_bytes(place));
  }
  EXPECT_EQ(allocator_.check_invariants(), "");
}

TEST_F(RecordedThreads, StatisticsOfEachDeviceAreItsOwn) {
  ASSERT_EQ(memory_.devices.size(), 2u);
  for (const DeviceSnapshot& device : memory_.devices) {
    const DeviceStatistics& statistics = device.statistics;
    const Done& done = done_[device.device];
    EXPECT_EQ(std::uint64_t(statistics.allocation.all.allocated), done.allocations);
    EXPECT_EQ(std::uint64_t(statistics.allocation.all.freed), done.frees);
    EXPECT_EQ(std::uint64_t(statistics.requested_bytes.all.current), live_bytes(device.device));
    EXPECT_EQ(std::uint64_t(statistics.requested_bytes.all.allocated), done.bytes);
  }
}

// Peaks too: the order of the changes is the one that they had under the allocator's lock.
TEST_F(RecordedThreads, TheTraceAddsUpToTheSame) {
  TraceReader reader(store_->bytes, TraceReader::Damage::refused);
  TraceTotals totals;

  ASSERT_EQ(reader.problem(), "");
  ToldTotals told(totals);
  ASSERT_TRUE(reader.read(TraceReader::Order::by_change,
                          [&](const TraceEvent& event) { told.add(event); }));
  totals.finish();

  ASSERT_EQ(totals.kinds.size(), memory_.kinds.size());
  for (const KindTotals& kind : memory_.kinds) {
    const TraceHolding& held = totals.kinds.at({kind.kind, kind.device}).held;
    EXPECT_EQ(held.allocations, kind.allocations);
    EXPECT_EQ(held.frees, kind.frees);
    EXPECT_EQ(held.live_bytes, kind.current_bytes);
    EXPECT_EQ(held.peak_bytes, kind.peak_bytes);
  }
  for (const auto& [key, tag] : totals.tags) {
    EXPECT_EQ(tag.held.peak_bytes, memory_.tags.at(key.first).peak_bytes);
    EXPECT_EQ(tag.total_ns, facts_.tags.at(key.first).total_ns);
  }
  for (const auto& [function, calls] : totals.functions) {
    EXPECT_EQ(calls.calls, facts_.functions.at(function).calls);
  }
}

}  // namespace
}  // namespace vramscope
