// Segments that a trace tells come and go between its events.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_extents.h"

#include <gtest/gtest.h>

#include <string>

namespace vramscope {
namespace {

using trace::What;
using enum SegmentChange::What;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr Address kHere = 0x7f0000000000;

TraceEvent event_of(What what, std::uint64_t serial, std::uint64_t start_ns) {
  TraceEvent one;
  one.what = what;
  one.event.serial = serial;
  one.event.start_ns = start_ns;
  return one;
}

SegmentChange change(SegmentChange::What what, std::uint64_t serial, std::uint64_t at_ns,
                     Address address = kHere, std::uint64_t bytes = 2 * kMiB) {
  const bool pages = what == pages_came || what == pages_went;
  return {.what = what,
          .place = {},
          .address = address,
          .bytes = what == went ? 0 : bytes,
          .page_bytes = pages ? 2 * kMiB : 0,
          .at_ns = at_ns,
          .serial = serial};
}

// "0+2 6+4": MiB after kHere, and how many.
std::string shown(const TraceExtents& extents) {
  std::string text;
  for (const auto& [key, extent] : extents.all()) {
    text += (text.empty() ? "" : " ") + std::to_string((key.second - kHere) / kMiB) + "+" +
            std::to_string((extent.end - key.second) / kMiB);
  }
  return text;
}

TEST(TraceExtents, ASegmentIsThereBeforeTheAllocationThatItCameFor) {
  const std::vector<SegmentChange> told{change(came, 4, 100)};
  TraceExtents extents(told, false);

  extents.advance_to(event_of(What::came, 4, 200));  // had its number before the driver was asked
  EXPECT_EQ(shown(extents), "");
  extents.advance_to(event_of(What::came, 5, 90));  // its call began before that
  EXPECT_EQ(shown(extents), "0+2");
}

TEST(TraceExtents, ASegmentGoesAfterTheFreesThatEmptiedIt) {
  const std::vector<SegmentChange> told{change(came, 0, 10), change(went, 5, 100)};
  TraceExtents extents(told, false);

  extents.advance_to(event_of(What::went, 5, 90));
  EXPECT_EQ(shown(extents), "0+2");
  extents.advance_to(event_of(What::went, 5, 110));
  EXPECT_EQ(shown(extents), "");
}

TEST(TraceExtents, PagesThatFollowEachOtherAreOneSegmentAndMayBeCut) {
  const std::vector<SegmentChange> told{change(pages_came, 0, 1, kHere, 2 * kMiB),
                                        change(pages_came, 0, 2, kHere + 4 * kMiB),
                                        change(pages_came, 0, 3, kHere + 2 * kMiB),
                                        change(pages_went, 0, 4, kHere + 2 * kMiB, 2 * kMiB)};
  TraceExtents extents(told, false);

  extents.advance_to(3);
  EXPECT_EQ(shown(extents), "0+6");
  extents.advance_to(4);
  EXPECT_EQ(shown(extents), "0+2 4+2");
}

TEST(TraceExtents, APlaceThatEndsTakesItsSegmentsAlong) {
  std::vector<SegmentChange> told{change(came, 0, 1), change(came, 0, 2, kHere + 8 * kMiB)};
  told[1].place.context = 7;
  TraceExtents extents(told, false);
  TraceEvent end = event_of(What::place_ended, 1, 5);
  end.event.place.context = 7;

  extents.advance_to(end);

  EXPECT_EQ(shown(extents), "0+2");
}

TEST(TraceExtents, WithoutBeingToldASegmentBeginsWhereTheDriverWasNeeded) {
  const std::vector<SegmentChange> none;
  TraceExtents extents(none, false);
  TraceEvent event = event_of(What::came, 1, 1);
  event.event.address = kHere;
  event.event.served = Served::driver;

  extents.came({.place = {}, .tag = 1, .bytes = kMiB, .slot = 0, .direct = false}, event.event);

  EXPECT_TRUE(extents.are_inferred());
  EXPECT_EQ(shown(extents), "0+2");
}

}  // namespace
}  // namespace vramscope
