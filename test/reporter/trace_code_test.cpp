// Events survive the way through bytes, whatever they say.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/trace/code.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "reporter/record/trace/facts.h"

namespace vramscope {
namespace {

using trace::What;
using Bytes = std::vector<std::byte>;

void expect_same(const TraceEvent& a, const TraceEvent& b) {
  EXPECT_EQ(a.what, b.what);
  EXPECT_EQ(a.thread, b.thread);
  EXPECT_EQ(a.event.start_ns, b.event.start_ns);
  EXPECT_EQ(a.event.serial, b.event.serial);
  EXPECT_EQ(a.event.place.packed(), b.event.place.packed());
  EXPECT_EQ(a.event.address, b.event.address);
  EXPECT_EQ(a.event.bytes, b.event.bytes);
  EXPECT_EQ(a.event.tag, b.event.tag);
  EXPECT_EQ(a.event.change, b.event.change);
  EXPECT_EQ(a.event.function, b.event.function);
  EXPECT_EQ(a.event.effect, b.event.effect);
  EXPECT_EQ(a.event.served, b.event.served);
  EXPECT_EQ(a.event.failed, b.event.failed);
  EXPECT_EQ(a.event.total_ns, b.event.total_ns);
  EXPECT_EQ(a.event.driver_ns, b.event.driver_ns);
  EXPECT_EQ(a.event.sync_ns, b.event.sync_ns);
}

Bytes encoded(const std::vector<TraceEvent>& events) {
  TraceState state;
  Bytes bytes;
  for (const TraceEvent& event : events) {
    std::array<std::byte, TraceState::kMostBytes> room{};
    bytes.insert(bytes.end(), room.data(), state.put(event, room.data()));
  }
  return bytes;
}

void expect_round_trip(const std::vector<TraceEvent>& events) {
  const Bytes bytes = encoded(events);
  TraceBytes rest(bytes);
  TraceState state;
  for (const TraceEvent& event : events) {
    TraceEvent read;
    ASSERT_TRUE(state.get(rest, read));
    expect_same(event, read);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(rest.bad());
}

// Numbers of every length, and often the same ones again.
class RandomEvents {
 public:
  explicit RandomEvents(unsigned seed) : random_(seed) {}

  TraceEvent next() {
    TraceEvent one;
    one.what = static_cast<What>(random_() % 6);
    one.thread = random_() % 8 == 0 ? static_cast<std::uint32_t>(number()) : thread_;
    thread_ = one.thread;
    Event& event = one.event;
    event.start_ns = number();
    const bool is_call = one.what <= What::went;
    if (is_call) {
      event.function = static_cast<std::uint16_t>(random_() % 3 == 0 ? number() : 7);
      event.effect = static_cast<Effect>(random_() % 7);
      event.served = static_cast<Served>(random_() % 3);
      event.failed = random_() % 4 == 0;
      event.total_ns = number();
      event.driver_ns = random_() % 2 == 0 ? number() : 0;
      event.sync_ns = random_() % 2 == 0 ? number() : 0;
    }
    if (one.what == What::came || one.what == What::came_besides) {
      event.change = MemoryChange::came;
    } else if (one.what == What::went || one.what == What::went_besides) {
      event.change = MemoryChange::went;
    }
    if (one.what != What::call) event.serial = number();
    const bool tells = one.what != What::call || random_() % 2 == 0;
    if (tells) event.place = place();
    if (tells && one.what != What::place_ended) {
      event.address = random_() % 2 == 0 ? 0x7f0000000000 + random_() % 64 * 512 : number();
      event.bytes = random_() % 2 == 0 ? 4096 : number();
      event.tag = static_cast<Tag>(random_() % 2 == 0 ? random_() % 300 : number());
    }
    return one;
  }

 private:
  std::uint64_t number() {
    const std::uint64_t all = std::uint64_t{random_()} << 32 | random_();
    return all >> random_() % 64;
  }
  Place place() {
    return {.kind = static_cast<Kind>(random_() % kKinds),
            .device = static_cast<std::uint16_t>(random_() % 3),
            .context = static_cast<std::uint32_t>(number())};
  }

  std::mt19937 random_;
  std::uint32_t thread_ = 0;
};

TEST(TraceCode, RandomEventsComeBackAsTheyWere) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomEvents random(seed);
    std::vector<TraceEvent> events;
    for (int i = 0; i < 1000; ++i) events.push_back(random.next());
    expect_round_trip(events);
    if (HasFailure()) return;
  }
}

TEST(TraceCode, TheLargestNumbersFitIntoTheRoomOfAnEvent) {
  std::vector<TraceEvent> events(4);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::uint64_t all = i % 2 == 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63;
    TraceEvent& one = events[i];
    one.what = static_cast<What>(i % 3);
    one.thread = ~std::uint32_t{0} - static_cast<std::uint32_t>(i);
    one.event = {.function = 0xffff,
                 .effect = Effect::life,
                 .served = Served::driver,
                 .failed = true,
                 .change = one.what == What::came   ? MemoryChange::came
                           : one.what == What::went ? MemoryChange::went
                                                    : MemoryChange::none,
                 .place = {.kind = Kind::graphics, .device = 0xffff, .context = ~0U},
                 .tag = ~0U,
                 .address = all,
                 .bytes = all,
                 .start_ns = all,
                 .total_ns = all,
                 .driver_ns = 1,
                 .sync_ns = 2,
                 .serial = one.what == What::call ? 0 : all};
  }
  expect_round_trip(events);
  EXPECT_LE(encoded(events).size(), events.size() * TraceState::kMostBytes);
}

// A loop of a thousand blocks and fifty call sites on one of several threads.
TEST(TraceCode, AnEventOfATypicalLoopTakesAtMostSixteenBytes) {
  std::mt19937 random(1);
  std::vector<TraceEvent> events;
  std::vector<Event> live;
  std::uint64_t now = 1'000'000'000'000;
  std::uint64_t serial = 0;
  for (int i = 0; i < 6000; ++i) {
    TraceEvent one;
    Event& event = one.event;
    one.thread = 1;
    event.function = 4;
    event.served = Served::hit;
    const bool goes = live.size() > 1000 || (live.size() > 800 && random() % 2 == 0);
    if (goes) {
      const std::size_t which = random() % live.size();
      event = live[which];
      live[which] = live.back();
      live.pop_back();
      one.what = What::went;
      event.effect = Effect::release;
      event.change = MemoryChange::went;
      event.sync_ns = 1500 + random() % 2000;
    } else {
      one.what = What::came;
      event.effect = Effect::allocate;
      event.change = MemoryChange::came;
      event.tag = 1 + random() % 50;
      event.bytes = 1000 * event.tag;
      event.address = 0x7f0000000000 + random() % (1 << 20) * 512;
      serial += random() % 8;
    }
    event.serial = serial;
    now += 200 + random() % 5000;
    event.start_ns = now;
    event.total_ns = 300 + event.sync_ns + random() % 200;
    now += event.total_ns;
    if (!goes) live.push_back(event);
    events.push_back(one);
  }

  const double bytes_an_event =
      static_cast<double>(encoded(events).size()) / static_cast<double>(events.size());

  RecordProperty("bytes_an_event", std::to_string(bytes_an_event));
  EXPECT_LE(bytes_an_event, 16.0);
  expect_round_trip(events);
}

TEST(TraceCode, WhatEndsWithinAnEventIsRefused) {
  RandomEvents random(1);
  const Bytes bytes = encoded({random.next(), random.next(), random.next()});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    TraceBytes cut(std::span<const std::byte>(bytes).first(length));
    TraceState state;
    TraceEvent event;
    int read = 0;
    while (!cut.empty() && state.get(cut, event)) ++read;
    EXPECT_LT(read, 3);
  }
}

TEST(TraceCode, AnyBytesAreReadOrRefused) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes(random() % 64);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    TraceBytes rest(bytes);
    TraceState state;
    TraceEvent event;
    while (!rest.empty() && state.get(rest, event)) {
    }
  }
}

// A later list of them, with the numbers of the earlier one, replaces that.
TEST(TraceFormat, MarksThatRepeatComeBackAsTheyWere) {
  std::vector<RepeatedMark> read;
  for (const std::uint64_t marks : {std::uint64_t{3}, std::uint64_t{1000}}) {
    RecorderFacts facts;
    facts.repeated_marks = {{"net:step", marks, {5, 5, marks << 40}}, {"", 3, {}}};
    const TraceFacts::Chunks chunks = TraceFacts::repeated_marks(facts);
    ASSERT_EQ(chunks.size(), 1U);
    const auto whole = std::as_bytes(std::span(chunks[0]));
    TraceBytes bytes(whole);
    while (!bytes.empty() && bytes.byte() == 0) get_repeated_mark(bytes, read);
    EXPECT_FALSE(bytes.bad());
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].name, "net:step");
    EXPECT_EQ(read[0].marks, marks);
    EXPECT_EQ(read[0].clocks_ns, facts.repeated_marks[0].clocks_ns);
    for (std::size_t length = 1; length < whole.size(); ++length) {
      TraceBytes cut(whole.first(length));
      std::vector<RepeatedMark> some;
      while (!cut.empty() && cut.byte() == 0) get_repeated_mark(cut, some);
      EXPECT_TRUE(cut.bad() || some.size() < 2);
    }
  }
}

TEST(TraceFormat, TheChecksumIsThatOfZip) {
  const std::string_view text = "123456789";
  EXPECT_EQ(checksum_of(std::as_bytes(std::span(text))), 0xcbf43926U);
}

}  // namespace
}  // namespace vramscope
