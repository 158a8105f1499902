// Which memory an event of a trace brings and ends, and what of it can be played again.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/traces/trace_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reporter/record/recorder.h"
#include "reporter/record/trace/trace.h"
#include "test/reporter/trace_store.h"

namespace vramscope {
namespace {

using trace::What;

constexpr Address kHere = 0x7f0000000000;
constexpr std::uint64_t kBytes = 4096;

// Words such as "+0" for slot 0, which came, "-0" and "lost 0".
class Heard final : public TraceMemory::Changes {
 public:
  std::vector<std::string> words;
  std::vector<TraceBlock> blocks;

  void came(const TraceBlock& block, const Event&) override {
    words.push_back("+" + std::to_string(block.slot));
    blocks.push_back(block);
  }
  void went(const TraceBlock& block, TraceMemory::End how) override {
    words.push_back((how == TraceMemory::End::lost ? "lost " : "-") + std::to_string(block.slot));
    blocks.push_back(block);
  }
};
using Words = std::vector<std::string>;

TraceEvent event_of(What what, Address address, std::uint64_t bytes, Served served = Served::hit) {
  TraceEvent one;
  one.what = what;
  one.event.served = served;
  one.event.address = address;
  one.event.bytes = bytes;
  return one;
}

TEST(TraceMemory, SlotsOfDeadBlocksAreGivenOutAgain) {
  TraceMemory memory;
  Heard heard;

  memory.add(event_of(What::came, kHere, kBytes), heard);
  memory.add(event_of(What::came, kHere + kBytes, kBytes), heard);
  memory.add(event_of(What::went, kHere, kBytes), heard);
  memory.add(event_of(What::came, kHere, 1), heard);

  EXPECT_EQ(heard.words, (Words{"+0", "+1", "-0", "+0"}));
}

TEST(TraceMemory, WhatGoesIsWhatCameWhateverTheFreeSays) {
  TraceMemory memory;
  Heard heard;

  memory.add(event_of(What::came, kHere, kBytes), heard);
  memory.add(event_of(What::went, kHere, 0), heard);

  EXPECT_EQ(heard.blocks[1].bytes, kBytes);
}

TEST(TraceMemory, TheDriverGivesNoAddressTwiceSoWhatWasThereIsFreed) {
  TraceMemory memory;
  Heard heard;

  memory.add(event_of(What::came, kHere, 3 * kBytes, Served::direct), heard);
  memory.add(event_of(What::came, kHere + kBytes, kBytes, Served::direct), heard);
  memory.add(event_of(What::went, kHere, 0, Served::direct), heard);

  EXPECT_EQ(heard.words, (Words{"+0", "-0", "+0"}));
}

TEST(TraceMemory, APlaceThatEndsTakesItsMemoryAlong) {
  TraceMemory memory;
  Heard heard;
  TraceEvent elsewhere = event_of(What::came, kHere + kBytes, kBytes, Served::direct);
  elsewhere.event.place.context = 7;
  TraceEvent end;
  end.what = What::place_ended;
  end.event.place.context = 7;

  memory.add(event_of(What::came, kHere, kBytes), heard);
  memory.add(elsewhere, heard);
  memory.add(end, heard);

  EXPECT_EQ(heard.words, (Words{"+0", "+1", "lost 1"}));
}

TEST(TraceSteps, AreWhatAProgramAskedInTheOrderOfItsChanges) {
  auto store = std::make_unique<TraceStore>();
  const TraceStore& written = *store;
  Recorder recorder(3);
  auto trace = std::make_unique<Trace>(std::move(store), Trace::Bell{});
  trace->begin({.pid = 1,
                .executable = "/bin/x",
                .mode = "cache",
                .tool_version = "1",
                .wall_ns = 0,
                .clock_ns = 0},
               {"none", "allocate", "free"});
  recorder.traces().keep(std::move(trace));
  Event event;
  event.function = 1;
  event.effect = Effect::allocate;
  event.served = Served::hit;
  event.change = MemoryChange::came;
  event.address = kHere;
  event.bytes = kBytes;
  recorder.record(event);
  event.effect = Effect::release;
  event.change = MemoryChange::went;
  event.start_ns = 1;
  recorder.record(event);
  recorder.trace()->write_events();
  const KnownNames known = recorder.trace()->known();
  recorder.trace()->write_names(recorder.names(known), known);
  recorder.trace()->write_mark();

  TraceReader reader(written.bytes, TraceReader::Damage::refused);
  TraceSteps found;
  ASSERT_TRUE(read_trace_steps(reader, found)) << reader.problem();

  ASSERT_EQ(found.steps.size(), 2U);
  EXPECT_EQ(found.slots, 1U);
  EXPECT_EQ(found.steps[0].what, TraceStep::What::came);
  EXPECT_EQ(found.steps[1].what, TraceStep::What::freed);
  EXPECT_EQ(found.steps[1].bytes, kBytes);
}

// A recorder with a trace, and what is in that trace's file.
struct Traced {
  Recorder recorder{3};
  std::vector<std::unique_ptr<Trace>> ended = {};

  const TraceStore& begin() {
    auto store = std::make_unique<TraceStore>();
    const TraceStore& written = *store;
    auto trace = std::make_unique<Trace>(std::move(store), Trace::Bell{});
    trace->begin({.pid = 1, .executable = "/bin/x", .mode = "cache", .tool_version = "1"},
                 {"none", "allocate", "free"});
    ended.push_back(recorder.traces().keep(std::move(trace)));
    return written;
  }
  void record(MemoryChange change, Address address, std::uint64_t serial) {
    recorder.record({.function = 1,
                     .effect = change == MemoryChange::came ? Effect::allocate : Effect::release,
                     .served = Served::hit,
                     .change = change,
                     .place = {},
                     .address = address,
                     .bytes = kBytes,
                     .start_ns = serial,
                     .serial = serial});
  }
};

// Threads record before it is known what was live.
TEST(TraceSteps, OfATraceBegunLateBeginWithWhatWasLive) {
  using enum MemoryChange;
  Traced traced;
  const TraceStore& written = traced.begin();
  Trace& trace = *traced.recorder.trace();
  trace.begin_amid(kNeverBegun, {});
  traced.record(came, kHere + kBytes, 4);  // is live then, too
  traced.record(came, kHere + 2 * kBytes, 5);
  traced.record(went, kHere + 2 * kBytes, 5);  // was freed before
  const std::vector<Event> live{
      {.served = Served::hit, .place = {}, .address = kHere, .bytes = kBytes, .serial = 2},
      {.served = Served::direct, .place = {}, .address = 64 * kBytes, .bytes = 7, .serial = 3},
      {.served = Served::hit,
       .place = {},
       .address = kHere + kBytes,
       .bytes = kBytes,
       .serial = 4}};
  trace.begin_amid({.serial = 5, .at_ns = 40}, live);
  traced.record(went, kHere, 5);
  traced.record(came, kHere, 6);
  trace.write_events();
  trace.write_mark();

  TraceReader reader(written.bytes, TraceReader::Damage::refused);
  TraceSteps found;
  ASSERT_TRUE(read_trace_steps(reader, found)) << reader.problem();

  ASSERT_EQ(found.steps.size(), 5U);
  using What = TraceStep::What;
  const What wanted[] = {What::came, What::came, What::came, What::freed, What::came};
  for (std::size_t i = 0; i < found.steps.size(); ++i)
    EXPECT_EQ(found.steps[i].what, wanted[i]) << i;
  EXPECT_EQ(found.steps[1].bytes, 7U);
  ASSERT_NE(reader.begin(), nullptr);
  EXPECT_EQ(reader.begin()->at_ns, 40U);
}

TEST(TraceSteps, OfATraceThatNeverSaysWhatWasLiveAreNone) {
  Traced traced;
  const TraceStore& written = traced.begin();
  traced.recorder.trace()->begin_amid(kNeverBegun, {});
  traced.record(MemoryChange::came, kHere, 4);
  traced.recorder.trace()->write_events();

  TraceReader reader(written.bytes, TraceReader::Damage::refused);
  TraceSteps found;
  ASSERT_TRUE(read_trace_steps(reader, found)) << reader.problem();

  EXPECT_TRUE(found.steps.empty());
}

TEST(Trace, EachOfARecorderHasEventsOfItsOwn) {
  Traced traced;
  const TraceStore& first = traced.begin();
  traced.record(MemoryChange::came, kHere, 1);
  traced.recorder.trace()->write_events();
  const TraceStore& second = traced.begin();
  traced.record(MemoryChange::went, kHere, 1);
  traced.recorder.trace()->write_events();

  EXPECT_EQ(TraceReader(first.bytes, TraceReader::Damage::refused).events(), 1U);
  EXPECT_EQ(TraceReader(second.bytes, TraceReader::Damage::refused).events(), 1U);
}

}  // namespace
}  // namespace vramscope
