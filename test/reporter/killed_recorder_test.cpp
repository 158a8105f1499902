// A recorder whose process is killed at any instant: all but the calls in flight is there.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "allocator/base/fault.h"
#include "reporter/record/recorder.h"
#include "reporter/record/recovery.h"
#include "test/reporter/recovery_case.h"

namespace vramscope {
namespace {

// What the threads of a recording process say of themselves; it outlives the process.
struct Log {
  static constexpr std::size_t kTags = 1 << 15;
  static constexpr std::size_t kTimed = 256;  // tags whose calls are counted
  using Counts = std::array<std::array<std::atomic<std::uint64_t>, kTimed>, kThreads>;

  std::atomic<bool> is_recording{false};
  Counts begun, ended;  // by tag, all of function `tag % kFunctions`
  // Where the one frame of a tag lies, once a call with it was recorded.
  std::array<std::atomic<std::uintptr_t>, kTags> frames;

  static std::uint64_t sum(const Counts& counts, std::size_t tag) {
    std::uint64_t sum = 0;
    for (const auto& thread : counts) sum += thread[tag].load();
    return sum;
  }
};

// Known tags in turn, each call of one nanosecond, and now and then a new one.
void record_forever(Recorder& recorder, Log& log, std::size_t thread) {
  std::mt19937 random(static_cast<unsigned>(thread));
  std::uintptr_t next = (thread + 1) << 32;
  Stack stack;
  stack.depth = 1;
  for (;;) {
    const bool is_new = random() % 16 == 0;
    stack.frames[0] = is_new ? ++next : 1 + random() % 200;
    const Tag tag = recorder.intern(stack, Place{.kind = Kind::device});
    const bool is_timed = tag < Log::kTimed;
    if (is_timed) log.begun[thread][tag].fetch_add(1);
    recorder.record({.function = static_cast<std::uint16_t>(tag % kFunctions),
                     .effect = Effect::allocate,
                     .served = Served::hit,
                     .place = {.kind = Kind::device},
                     .tag = tag,
                     .total_ns = 1});
    if (is_timed) log.ended[thread][tag].fetch_add(1);
    if (tag < Log::kTags) log.frames[tag].store(stack.frames[0]);
  }
}

struct KilledRecorder : Recovery {
  KilledRecorder()
      : log(*static_cast<Log*>(mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~KilledRecorder() override { munmap(&log, sizeof(Log)); }

  // A process that recorded for so long when it was killed.
  void kill_after(unsigned us) {
    ASSERT_EQ(0, ftruncate(file, 0));
    madvise(&log, sizeof(Log), MADV_REMOVE);
    const pid_t child = start([this](LiveMemory& memory) {
      Recorder recorder(kFunctions, Recorder::kMaxTags, &memory);
      Stack stack;
      stack.depth = 1;
      for (stack.frames[0] = 1; stack.frames[0] <= 200; ++stack.frames[0]) {
        static_cast<void>(recorder.intern(stack, Place{.kind = Kind::device}));
      }
      log.is_recording.store(true);
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] { record_forever(recorder, log, i); });
      }
      threads[0].join();
      return 0;
    });
    while (!log.is_recording.load()) usleep(100);
    usleep(us);
    kill(child, SIGKILL);
    const int status = end_of(child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }

  std::uint64_t calls_of_all() const {
    std::uint64_t calls = 0;
    for (std::size_t tag = 1; tag < Log::kTimed; ++tag) calls += Log::sum(log.ended, tag);
    return calls;
  }

  void check() {
    Image image(file);
    ASSERT_NE(nullptr, image.header());
    RecorderFacts facts;
    ASSERT_NO_THROW(facts = recover_facts(*image.header()));
    ASSERT_NO_FATAL_FAILURE(check_names(facts));
    ASSERT_NO_FATAL_FAILURE(check_times(facts));
    ASSERT_NO_FATAL_FAILURE(check_calls(facts));
  }
  void check_times(const RecorderFacts& facts) const {
    for (std::size_t tag = 1; tag < Log::kTimed && tag < facts.tags.size(); ++tag) {
      ASSERT_LE(Log::sum(log.ended, tag), facts.tags[tag].total_ns) << "tag " << tag;
      ASSERT_GE(Log::sum(log.begun, tag), facts.tags[tag].total_ns) << "tag " << tag;
    }
  }
  void check_names(const RecorderFacts& facts) const {
    for (std::size_t tag = 1; tag < Log::kTags; ++tag) {
      const std::uintptr_t frame = log.frames[tag].load();
      if (frame == 0) continue;
      ASSERT_LT(tag, facts.tags.size());
      const SiteFact& site = facts.sites.at(facts.tags[tag].site);
      ASSERT_EQ(1U, site.frames.size()) << "tag " << tag;
      ASSERT_EQ(frame, facts.frames.at(site.frames[0]).offset) << "tag " << tag;
    }
  }
  // Calls are those of all tags, of which only the first few are counted here.
  void check_calls(const RecorderFacts& facts) const {
    std::uint64_t calls = 0, times = 0;
    for (const FunctionTotals& function : facts.functions) calls += function.calls;
    for (const TagFact& tag : facts.tags) times += tag.total_ns;
    ASSERT_LE(calls_of_all(), calls);
    ASSERT_LE(times, calls);
    ASSERT_GE(times + kThreads, calls);
    if (calls <= kThreads) return;  // killed at once: the first calls may be in flight
    ASSERT_EQ(1U, facts.devices.size());
    const Duration& hits = facts.devices[0].second.alloc_hit;
    ASSERT_LE(hits.count, calls);
    ASSERT_GE(hits.count + kThreads, calls);
    ASSERT_GE(hits.total_ns, hits.count);
    ASSERT_LE(hits.total_ns, hits.count + kThreads);
    ASSERT_EQ(hits.count == 0 ? 0U : 1U, hits.min_ns);
  }

  Log& log;
};

void choose_fault() {
#ifdef VRAMSCOPE_FAULTS
  const char* const name = std::getenv("VRAMSCOPE_FAULT");
  if (name != nullptr && std::string(name) == "names_committed_early") {
    chosen_fault = Fault::names_committed_early;
  }
#endif
}

TEST_F(KilledRecorder, HasAllButTheCallsInFlight) {
  choose_fault();
  const auto begin = std::chrono::steady_clock::now();
  unsigned long long calls = 0;
  const char* const kills = std::getenv("VRAMSCOPE_KILLS");
  std::mt19937 random(20);
  for (int i = 0, n = kills == nullptr ? 100 : std::atoi(kills); i < n; ++i) {
    const unsigned us = random() % 5000;
    SCOPED_TRACE("kill " + std::to_string(i) + " after " + std::to_string(us) + " us");
    ASSERT_NO_FATAL_FAILURE(kill_after(us));
    calls += calls_of_all();
    check();
    if (!HasFailure()) continue;
    // As test/differential/faults.py reads it.
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::printf("found: seed 20, %llu calls, %.1f seconds, in kill %d:\n", calls, spent.count(), i);
    return;
  }
}

}  // namespace
}  // namespace vramscope
