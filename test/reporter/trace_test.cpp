// Threads that trace, and what a reader finds: nothing lost, nothing twice, no damage unnoticed.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/trace.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "reporter/record/recorder.h"
#include "reporter/report/traces/trace_reader.h"
#include "test/reporter/trace_store.h"

namespace vramscope {
namespace {

using Damage = TraceReader::Damage;
using Order = TraceReader::Order;

Event call_of(std::uint32_t thread, std::uint64_t i) {
  Event event;
  event.function = static_cast<std::uint16_t>(1 + i % 2);
  event.effect = i % 2 == 0 ? Effect::allocate : Effect::release;
  event.served = Served::hit;
  event.change = i % 2 == 0 ? MemoryChange::came : MemoryChange::went;
  event.address = 0x10000000 * (std::uint64_t{thread} + 1) + i / 2 % 100 * 512;
  event.bytes = 1 + i / 2;
  event.serial = i + thread;
  event.start_ns = 1'000'000 + i * 1000 + thread;
  event.total_ns = 100;
  return event;
}

struct Traced {
  TraceStore* store = nullptr;  // of `recorder`
  std::unique_ptr<Recorder> recorder;
};

Traced new_recorder(Trace::Bell bell = {}) {
  auto store = std::make_unique<TraceStore>();
  Traced traced{.store = store.get(), .recorder = std::make_unique<Recorder>(3)};
  auto trace = std::make_unique<Trace>(std::move(store), bell);
  trace->begin({.pid = 4711,
                .executable = "/bin/x",
                .mode = "cache",
                .tool_version = "1",
                .wall_ns = 5'000'000,
                .clock_ns = 1'000'000},
               {"none", "allocate", "free"});
  traced.recorder->traces().keep(std::move(trace));
  return traced;
}

void finish(Traced& traced) {
  Trace& trace = *traced.recorder->trace();
  trace.write_events();
  const KnownNames known = trace.known();
  trace.write_names(traced.recorder->names(known), known);
  trace.write_mark();
}

void record(Recorder& recorder, std::uint32_t thread, std::uint64_t events) {
  for (std::uint64_t i = 0; i < events; ++i) recorder.record(call_of(thread, i));
}

// Of one thread's events, in their order.
struct Seen {
  std::uint64_t next = 0;
  bool in_order = true;
};

std::map<std::uint64_t, Seen> by_thread(TraceReader& reader) {
  std::map<std::uint64_t, Seen> seen;
  EXPECT_TRUE(reader.read(Order::by_end, [&](const TraceEvent& one) {
    const std::uint64_t thread = one.event.address / 0x10000000 - 1;
    Seen& of_it = seen[thread];
    const Event expected = call_of(static_cast<std::uint32_t>(thread), of_it.next++);
    of_it.in_order = of_it.in_order && expected.bytes == one.event.bytes &&
                     expected.start_ns == one.event.start_ns &&
                     expected.serial == one.event.serial && expected.address == one.event.address;
  }));
  return seen;
}

TEST(Trace, ThreadsLoseNothingWhileNobodyHelps) {
  constexpr std::uint64_t kEvents = 25'000;
  constexpr std::uint32_t kThreads = 8;
  Traced traced = new_recorder();
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { record(*traced.recorder, i, kEvents); });
  }
  for (std::thread& thread : threads) thread.join();
  finish(traced);

  TraceReader reader(traced.store->bytes, Damage::refused);

  ASSERT_EQ(reader.problem(), "");
  EXPECT_TRUE(reader.is_complete());
  EXPECT_EQ(reader.events(), kEvents * kThreads);
  for (const auto& [thread, seen] : by_thread(reader)) {
    EXPECT_TRUE(seen.in_order) << thread;
    EXPECT_EQ(seen.next, kEvents) << thread;
  }
}

// Reports, the helper and threads that are ahead of it all write at once.
TEST(Trace, ThreadsLoseNothingWhileOthersEmptyTheirBuffers) {
  constexpr std::uint64_t kEvents = 25'000;
  constexpr std::uint32_t kThreads = 8;
  static std::atomic<bool> rung;
  rung = false;
  Traced traced = new_recorder({.ring = [](void*) { rung = true; }, .context = nullptr});
  Trace& trace = *traced.recorder->trace();
  std::atomic<bool> done{false};
  std::thread helper([&] {
    while (!done) {
      if (rung.exchange(false)) trace.write_full_halves();
      std::this_thread::yield();
    }
  });
  std::thread reporter([&] {
    while (!done) {
      finish(traced);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { record(*traced.recorder, i, kEvents); });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  helper.join();
  reporter.join();
  finish(traced);

  TraceReader reader(traced.store->bytes, Damage::refused);

  ASSERT_EQ(reader.problem(), "");
  EXPECT_EQ(reader.events(), kEvents * kThreads);
  for (const auto& [thread, seen] : by_thread(reader)) {
    EXPECT_TRUE(seen.in_order) << thread;
    EXPECT_EQ(seen.next, kEvents) << thread;
  }
}

TEST(Trace, ThreadsThatFollowEachOtherShareALane) {
  Traced traced = new_recorder();
  for (std::uint32_t i = 0; i < 20; ++i) {
    std::thread([&, i] { record(*traced.recorder, i, 10); }).join();
  }
  finish(traced);

  TraceReader reader(traced.store->bytes, Damage::refused);
  std::set<std::uint32_t> threads;
  ASSERT_TRUE(
      reader.read(Order::by_end, [&](const TraceEvent& one) { threads.insert(one.thread); }));

  EXPECT_EQ(reader.events(), 200U);
  EXPECT_EQ(threads.size(), 20U);
  EXPECT_EQ(by_thread(reader).size(), 20U);
}

TEST(Trace, ChangesOfSeveralThreadsComeInTheirOrder) {
  Traced traced = new_recorder();
  std::vector<std::thread> threads;
  std::latch together(4);  // so that each has a lane of its own
  for (std::uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      record(*traced.recorder, i, 1);
      together.arrive_and_wait();
      for (std::uint64_t j = 1; j < 1000; ++j) traced.recorder->record(call_of(i, j));
    });
  }
  for (std::thread& thread : threads) thread.join();
  finish(traced);
  TraceReader reader(traced.store->bytes, Damage::refused);

  std::uint64_t last = 0;
  ASSERT_TRUE(reader.read(Order::by_change, [&](const TraceEvent& one) {
    EXPECT_GE(one.event.serial, last);
    last = one.event.serial;
  }));
}

TEST(Trace, WhatAFullFileDoesNotTakeIsCountedAsLost) {
  Traced traced = new_recorder();
  traced.store->room = 100'000;
  record(*traced.recorder, 0, 50'000);
  Trace& trace = *traced.recorder->trace();
  trace.write_events();
  const Trace::Totals totals = trace.write_mark();

  TraceReader reader(traced.store->bytes, Damage::refused);

  ASSERT_EQ(reader.problem(), "");
  EXPECT_GT(totals.lost, 0U);
  EXPECT_EQ(totals.events + totals.lost, 50'000U);
  EXPECT_EQ(reader.events(), totals.events);
}

TEST(Trace, WhatComesAfterTheEndIsNotInIt) {
  Traced traced = new_recorder();
  record(*traced.recorder, 0, 10);
  traced.recorder->trace()->end();
  record(*traced.recorder, 0, 10);
  finish(traced);

  EXPECT_EQ(TraceReader(traced.store->bytes, Damage::refused).events(), 10U);
}

TEST(Trace, NamesComeBackAsTheyWere) {
  Traced traced = new_recorder();
  Tag tag = 0;
  std::thread([&] {
    tag = traced.recorder->intern(Stack(), {.place = {.kind = Kind::managed, .device = 2},
                                            .function = 2,
                                            .size_class = 5,
                                            .thread = traced.recorder->current_thread()});
    Event event = call_of(0, 0);
    event.tag = tag;
    traced.recorder->record(event);
  }).join();
  finish(traced);

  TraceReader reader(traced.store->bytes, Damage::refused);
  const TraceNames& names = reader.names();

  EXPECT_EQ(names.process.pid, 4711);
  EXPECT_EQ(names.process.executable, "/bin/x");
  EXPECT_EQ(names.functions, (std::vector<std::string>{"none", "allocate", "free"}));
  ASSERT_GT(names.facts.tags.size(), tag);
  EXPECT_EQ(names.facts.tags[tag].place.kind, Kind::managed);
  EXPECT_EQ(names.facts.tags[tag].values[static_cast<std::size_t>(Axis::size_class)], 5U);
  ASSERT_EQ(names.facts.threads.size(), 2U);
  EXPECT_NE(names.facts.threads[1].id, 0);
}

std::vector<std::byte> small_trace() {
  Traced traced = new_recorder();
  record(*traced.recorder, 0, 20);
  finish(traced);
  record(*traced.recorder, 0, 20);
  finish(traced);
  return traced.store->bytes;
}

TEST(TraceReader, AnyChangedByteIsNoticed) {
  const std::vector<std::byte> good = small_trace();
  ASSERT_EQ(TraceReader(good, Damage::refused).problem(), "");
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const unsigned change : {0x01U, 0x80U, 0xffU}) {
      std::vector<std::byte> bad = good;
      bad[at] ^= static_cast<std::byte>(change);
      EXPECT_NE(TraceReader(bad, Damage::refused).problem(), "") << at;
    }
  }
}

TEST(TraceReader, AnyMissingByteIsNoticed) {
  const std::vector<std::byte> good = small_trace();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> bad = good;
    bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_NE(TraceReader(bad, Damage::refused).problem(), "") << at;
  }
}

SegmentChange segment_change(SegmentChange::What what, std::uint64_t serial, std::uint64_t at_ns) {
  return {.what = what,
          .by_pytorch = serial == 2,
          .place = {.kind = Kind::device, .device = 1, .context = 7},
          .address = 0x7f0000000000,
          .bytes = 2 << 20,
          .page_bytes = 512,
          .at_ns = at_ns,
          .serial = serial};
}

TEST(TraceReader, HasSegmentsInTheOrderOfAllocations) {
  using enum SegmentChange::What;
  Traced traced = new_recorder();
  record(*traced.recorder, 0, 4);
  traced.recorder->trace()->add_segment(segment_change(went, 2, 50));
  traced.recorder->trace()->add_segment(segment_change(pages_came, 2, 40));
  traced.recorder->trace()->add_segment(segment_change(came, 1, 60));
  finish(traced);

  const TraceReader reader(traced.store->bytes, Damage::refused);

  ASSERT_EQ(reader.problem(), "");
  EXPECT_EQ(reader.events(), 4U);
  ASSERT_EQ(reader.segments().size(), 3U);
  EXPECT_EQ(reader.segments()[0].what, came);
  EXPECT_FALSE(reader.segments()[0].by_pytorch);
  const SegmentChange& pages = reader.segments()[1];
  EXPECT_EQ(pages.what, pages_came);
  EXPECT_TRUE(pages.by_pytorch);
  EXPECT_EQ(pages.place, segment_change(came, 1, 60).place);
  EXPECT_EQ(pages.address, 0x7f0000000000U);
  EXPECT_EQ(pages.bytes, 2U << 20);
  EXPECT_EQ(pages.page_bytes, 512U);
  EXPECT_EQ(pages.at_ns, 40U);
  EXPECT_EQ(reader.segments()[2].what, went);
}

TEST(TraceReader, LeavesOutWhatALaterVersionMayAdd) {
  std::vector<std::byte> bytes = small_trace();
  ChunkHead head{.type = static_cast<ChunkType>(200), .bytes = 3};
  const std::array<std::byte, 3> content{};
  seal(head, content);
  const auto of_head = std::as_bytes(std::span(&head, 1));
  bytes.insert(bytes.begin() + kTraceHeadBytes, content.begin(), content.end());
  bytes.insert(bytes.begin() + kTraceHeadBytes, of_head.begin(), of_head.end());

  EXPECT_EQ(TraceReader(bytes, Damage::refused).problem(), "");
}

// Cut between two chunks it looks like the trace of a program that was killed then.
TEST(TraceReader, ACutFileIsRefusedOrIncomplete) {
  const std::vector<std::byte> good = small_trace();
  int readable = 0;
  for (std::size_t length = 0; length < good.size(); ++length) {
    const TraceReader cut(std::span<const std::byte>(good).first(length), Damage::refused);
    const TraceReader partial(std::span<const std::byte>(good).first(length), Damage::left_out);
    if (cut.problem().empty()) ++readable;
    EXPECT_EQ(partial.problem().empty(), length >= kTraceHeadBytes) << length;
    EXPECT_LE(partial.events(), 40U);
  }
  EXPECT_GT(readable, 3);
  EXPECT_LT(readable, 10);
}

TEST(TraceReader, BehindDamageReadingGoesOn) {
  Traced traced = new_recorder();
  for (std::uint32_t i = 0; i < 2; ++i) {
    std::thread([&, i] { record(*traced.recorder, i, 20'000); }).join();
  }
  finish(traced);
  std::vector<std::byte> bytes = traced.store->bytes;
  bytes[100'000] ^= std::byte{1};

  TraceReader reader(bytes, Damage::left_out);
  std::uint64_t read = 0;

  ASSERT_TRUE(reader.read(Order::by_end, [&](const TraceEvent&) { ++read; }));
  EXPECT_EQ(read, reader.events());
  EXPECT_GT(read, 20'000U);
  EXPECT_LT(read, 40'000U);
  EXPECT_GE(reader.damaged(), 1U);
}

TEST(TraceReader, WhatIsNoTraceIsSaidInOneLine) {
  const auto problem = [](std::string_view text) {
    return TraceReader(std::as_bytes(std::span(text)), Damage::refused).problem();
  };
  EXPECT_EQ(problem(""), "byte 1: expected a trace, which begins with 'VRAMSCOPE TRACE'");
  EXPECT_EQ(problem("{\"schema\": 1}, which is a report"),
            "byte 1: expected a trace, which begins with 'VRAMSCOPE TRACE'");
  EXPECT_EQ(problem("{\"schema\": {\"name\": \"vramscope-report\"}}"),
            "byte 1: expected a trace, found a report, which vramscope report shows");
}

TEST(TraceReader, CallsAFileThatIsCutOffThat) {
  const std::vector<std::byte> bytes = small_trace();
  const auto problem = [&](std::size_t kept) {
    return TraceReader(std::span(bytes).first(kept), Damage::refused).problem();
  };

  EXPECT_EQ(problem(7), "ends early at byte 7: cut off");
  EXPECT_EQ(problem(16), "ends early at byte 16: cut off");
  EXPECT_EQ(problem(bytes.size() - 1),
            "ends early at byte " + std::to_string(bytes.size() - 1) +
                ": cut off (vramscope trace --partial FILE reads the rest)");
}

TEST(TraceReader, AnotherVersionIsRefused) {
  std::vector<std::byte> bytes = small_trace();
  bytes[16] = std::byte{7};
  const std::uint32_t checksum = checksum_of(std::span(bytes).first(20));
  std::memcpy(bytes.data() + 20, &checksum, 4);

  EXPECT_EQ(TraceReader(bytes, Damage::refused).problem(),
            "byte 17: expected version 1 of the format, found 7");
}

}  // namespace
}  // namespace vramscope
