// Observers of a trace hear of each event once, in order, and of what it does to memory.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_follower.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "reporter/record/trace/trace.h"
#include "reporter/view/analysis/filter/filter.h"
#include "test/reporter/trace_store.h"

namespace vramscope {
namespace {

using trace::What;
using Words = std::vector<std::string>;

constexpr Address kHere = 0x7f0000000000;
constexpr std::uint64_t kBegin = 1000;

TraceEvent event_of(What what, Address address, std::uint64_t serial, std::uint64_t start_ns,
                    std::uint64_t bytes = 100) {
  TraceEvent one;
  one.what = what;
  one.event.effect = what == What::went ? Effect::release : Effect::allocate;
  one.event.served = Served::hit;
  one.event.tag = 1;
  one.event.address = address;
  one.event.bytes = bytes;
  one.event.start_ns = start_ns;
  one.event.total_ns = 10;
  one.event.serial = serial;
  return one;
}

// Two blocks come, and the first of them goes.
std::vector<TraceEvent> three_events() {
  return {event_of(What::came, kHere, 1, 1100), event_of(What::came, kHere + 512, 2, 1200, 300),
          event_of(What::went, kHere, 2, 1300)};
}

TraceNames made_names() {
  TraceNames names;
  names.process.clock_ns = kBegin;
  names.facts.tags.own().resize(2);
  return names;
}

// A file of the events, as one thread writes them.
class Written {
 public:
  explicit Written(const std::vector<TraceEvent>& events) {
    auto store = std::make_unique<TraceStore>();
    store_ = store.get();
    trace_ = std::make_unique<Trace>(std::move(store), Trace::Bell{});
    trace_->begin({.pid = 1,
                   .executable = "/bin/x",
                   .mode = "cache",
                   .tool_version = "1",
                   .wall_ns = 0,
                   .clock_ns = kBegin},
                  {"allocate"});
    trace_->write_names(made_names().facts, {});
    TraceLane* lane = nullptr;
    for (const TraceEvent& event : events) trace_->add(lane, event);
    trace_->write_events();
    static_cast<void>(trace_->write_mark());
    reader_ = std::make_unique<TraceReader>(store_->bytes, TraceReader::Damage::refused);
  }
  TraceReader& operator*() { return *reader_; }

 private:
  TraceStore* store_ = nullptr;
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<TraceReader> reader_;
};

// "2 at 200", with "?" of what does not pass; "+0" for slot 0, which came, "-0" and "lost 0".
class Heard : public TraceObserver {
 public:
  explicit Heard(Words& words) : words_(words) {}

  void event(const FollowedEvent& now) override {
    words_.push_back(std::to_string(now.number) + " at " + std::to_string(now.at_ns) +
                     (now.passes ? "" : "?"));
  }
  void came(const TraceBlock& block, const FollowedEvent&) override { add("+", block); }
  void went(const TraceBlock& block, const FollowedEvent&, TraceMemory::End how) override {
    add(how == TraceMemory::End::lost ? "lost " : "-", block);
  }

 private:
  void add(const char* word, const TraceBlock& block) {
    words_.push_back(word + std::to_string(block.slot) + (block.passes ? "" : "?"));
  }
  Words& words_;
};

Words heard(const Filter& filter, const std::vector<TraceEvent>& events) {
  const TraceNames names = made_names();
  TraceFollower trace(names, trace_filter(names, filter, {}));
  Words words;
  Heard observer(words);
  trace.begin({&observer});
  for (const TraceEvent& event : events) trace.add(event);
  return words;
}

TEST(TraceFollower, TellsOfAnEventAndThenOfWhatItDoes) {
  EXPECT_EQ(heard({}, three_events()),
            (Words{"1 at 100", "+0", "2 at 200", "+1", "3 at 300", "-0"}));
}

TEST(TraceFollower, TellsItsObserversInTheirOrder) {
  const TraceNames names = made_names();
  TraceFollower trace(names, {});
  Words words;
  Heard first(words);
  Heard second(words);

  trace.begin({&first, &second});
  trace.add(three_events().front());

  EXPECT_EQ(words, (Words{"1 at 100", "1 at 100", "+0", "+0"}));
}

TEST(TraceFollower, WhatAFilterLeavesOutIsToldAsSuchUntilItGoes) {
  std::vector<TraceEvent> events = three_events();
  events.back().event.bytes = 0;  // a free that does not know how much it frees
  EXPECT_EQ(heard({.min_bytes = "200"}, events),
            (Words{"1 at 100?", "+0?", "2 at 200", "+1", "3 at 300?", "-0?"}));
}

TEST(TraceFollower, OfTimesTellsNothingThatComesLaterAndWhatWasThereBeforeAsLeftOut) {
  EXPECT_EQ(heard({.from = "200ns", .to = "250ns"}, three_events()),
            (Words{"1 at 100?", "+0?", "2 at 200", "+1"}));
}

TEST(TraceFollower, WhatPassesEndsWhereMemoryThatDoesNotTakesItsPlace) {
  std::vector<TraceEvent> events{event_of(What::came, kHere, 1, 1100, 300),
                                 event_of(What::came, kHere, 2, 1200, 100)};
  for (TraceEvent& one : events) one.event.served = Served::direct;
  EXPECT_EQ(heard({.min_bytes = "200"}, events),
            (Words{"1 at 100", "+0", "2 at 200?", "-0", "+0?"}));
}

TEST(TraceFollower, TimeNeverGoesBack) {
  std::vector<TraceEvent> events = three_events();
  events[1].event.start_ns = 1050;  // on another thread
  EXPECT_EQ(heard({}, events), (Words{"1 at 100", "+0", "2 at 100", "+1", "3 at 300", "-0"}));
}

TEST(TraceFollower, TimeBeginsWithTheFirstCallWhereThatBeganBeforeRecording) {
  const TraceNames names = made_names();
  TraceFollower trace(names, {});
  Words words;
  Heard observer(words);

  trace.begin({&observer});
  trace.add(event_of(What::came, kHere, 1, kBegin - 10));

  EXPECT_EQ(words.front(), "1 at 0");
  EXPECT_EQ(trace.begin_ns(), kBegin - 10);
  EXPECT_EQ(trace.length_ns(), 10U);
}

TEST(TraceFollower, StopsWhenItIsToldToAndBeginsAnew) {
  Written written(three_events());
  TraceFollower trace(*written);
  Words words;
  Heard observer(words);

  ASSERT_TRUE(trace.follow({})) << trace.problem();
  EXPECT_EQ(trace.length_ns(), 310U);
  ASSERT_TRUE(trace.follow({&observer}, 1));
  ASSERT_TRUE(trace.follow({&observer}, 2));

  EXPECT_EQ(words, (Words{"1 at 100", "+0", "1 at 100", "+0", "2 at 200", "+1"}));
}

TEST(TraceFollower, SaysWhatTheTraceLacks) {
  Written written(three_events());
  TraceFollower device(*written, {.device = 1}, {});
  TraceFollower later(*written, {.from = "1s"}, {});
  TraceFollower whenever(*written, {.from = "1s"}, {}, FollowedTimes::all);

  EXPECT_FALSE(device.follow({}));
  EXPECT_EQ(device.missing(), "has no device 1; devices: 0");
  EXPECT_FALSE(later.follow({}));
  EXPECT_EQ(later.missing(), "ends after 310 ns, before --from 1.00 s");
  EXPECT_TRUE(whenever.follow({}));
}

TEST(TraceFollower, ListsEventsInTheOrderOfTheirEnds) {
  std::vector<TraceEvent> events = three_events();
  events[0].event.total_ns = 500;
  events[0].thread = 1;
  Written written(events);
  TraceFollower trace(*written, {.min_bytes = "200"}, {});
  std::vector<std::uint64_t> passing;

  ASSERT_TRUE(trace.list([&](const FollowedEvent& now) {
    if (now.passes) passing.push_back(now.instant_ns);
  }));

  EXPECT_EQ(passing, std::vector<std::uint64_t>{200});
}

}  // namespace
}  // namespace vramscope
