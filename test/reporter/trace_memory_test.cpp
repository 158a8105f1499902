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
  recorder.keep(std::move(trace));
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

}  // namespace
}  // namespace vramscope
