// What is said of fragmentation.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reporter/view/text/map_text.h"
#include "test/view/made_segments.h"

namespace vramscope {
namespace {

using nlohmann::json;

TEST(Map, SaysWhatPinsWhatAndWhatItsFreeGives) {
  const std::vector<MapPlace> places = memory_map(fragmented());

  ASSERT_EQ(places.size(), 1U);
  const MapPlace& place = places[0];
  EXPECT_EQ(place.total_bytes, 82 * kMiB);
  EXPECT_EQ(place.free_bytes, 48 * kMiB + 1920 * kKiB);
  EXPECT_EQ(place.largest_free_bytes, 20 * kMiB);
  EXPECT_EQ(place.stranded_bytes, 28 * kMiB + 1920 * kKiB);
  EXPECT_EQ(place.stranded_segments, 3U);
  EXPECT_EQ(place.returnable_bytes, 20 * kMiB);
  EXPECT_EQ(external_fragmentation(place), 599U);  // 1 - 20 / 49.875
  const MapSegment& alone = place.segments[0];     // the most stranded bytes first
  EXPECT_EQ(alone.pin, 1U);
  EXPECT_EQ(alone.hole_bytes, 20 * kMiB);
  EXPECT_EQ(alone.gives_back_bytes, 20 * kMiB);
  const MapSegment& shared = place.segments[1];
  EXPECT_EQ(shared.pin, 1U);  // the larger one opens a smaller hole
  EXPECT_EQ(shared.hole_bytes, 12 * kMiB);
  EXPECT_EQ(shared.gives_back_bytes, 0U);
}

TEST(Map, SumsUpTheSitesThatPin) {
  const MapPlace place = memory_map(fragmented())[0];

  ASSERT_EQ(place.pinners.size(), 2U);
  EXPECT_EQ(place.pinners[0].site, 0);
  EXPECT_EQ(place.pinners[0].segments, 2U);
  EXPECT_EQ(place.pinners[0].stranded_bytes, 28 * kMiB);
  EXPECT_EQ(place.pinners[0].gives_back_bytes, 20 * kMiB);  // site 1 lives in the other one, too
  EXPECT_EQ(place.pinners[0].oldest_ns, 0);
  EXPECT_EQ(place.pinners[1].site, 1);
}

TEST(Map, KnowsWhichRequestsNeedNoNewSegment) {
  Report report = fragmented();
  MapPlace place = memory_map(report)[0];
  EXPECT_EQ(place.small_request_bytes, kMiB);  // the hole is larger, the pool is not for more
  EXPECT_EQ(place.large_request_bytes, 20 * kMiB);
  EXPECT_TRUE(place.whole_bytes.empty());

  report.process.options = {{"policy", "native-safe"}};  // above 1 MiB each has its own segment
  report.devices[0].segments = {segment({free_of(4 * kMiB)}), segment({free_of(8 * kMiB)}),
                                segment({free_of(4 * kMiB)}), segment({used(6 * kMiB)})};
  place = memory_map(report)[0];
  EXPECT_EQ(place.large_request_bytes, 0U);
  EXPECT_EQ(place.whole_bytes, (std::vector<std::uint64_t>{8 * kMiB, 4 * kMiB}));
  EXPECT_TRUE(has(text_of(report),
                  "without a new segment, Vramscope's cache can still serve requests that take a\n"
                  "    whole segment of 8.00 MiB or 4.00 MiB\n"))
      << text_of(report);
}

// 1 - 20 / 1280 of it: many pieces, each of which goes back.
TEST(Map, SaysThatPiecesWhichCanGoBackAreNoFragmentation) {
  Report report = fragmented();
  report.devices[0].segments.assign(64, segment({free_of(20 * kMiB)}));

  const std::string text = text_of(report, 200);

  EXPECT_TRUE(has(text, "Fragmentation: no, all free memory can be released to the driver.\n"))
      << text;
  EXPECT_FALSE(has(text, "external fragmentation"));
  EXPECT_TRUE(has(text, " free; every hole can be released"));
  EXPECT_TRUE(has(text,
                  "large pool: 64 segments, 1.25 GiB\n"
                  "  idle segments: 64 x 20.0 MiB (-n 0 draws them)\n"))
      << text;
  EXPECT_TRUE(has(
      text, "\nNo block was live at the end. To see memory at its peak: vramscope run --trace"));
  EXPECT_FALSE(has(text_of(fragmented(), 200), "No block was live"));
  EXPECT_FALSE(has(text, "|....")) << "nothing but free memory is to be seen in these rows";
}

TEST(Map, SegmentsOfOneHoleHaveNoSuchFigure) {
  Report report = fragmented();
  report.devices[0].segments = {segment({used(2 * kMiB), free_of(18 * kMiB)})};
  EXPECT_FALSE(has(text_of(report, 100), "external fragmentation"));
}

TEST(Map, PagesOfGrowingSegmentsGoBackByThemselves) {
  SegmentFacts growing = segment({used(30 * kMiB), free_of(50 * kMiB), used(20 * kMiB)});
  growing.is_expandable = true;

  const MapPlace place = memory_map(holding({growing}))[0];

  EXPECT_EQ(place.returnable_bytes, 40 * kMiB);  // 40 to 80 MiB: whole pages of 20 MiB
  EXPECT_EQ(place.stranded_bytes, 10 * kMiB);
}

TEST(Map, TellsTheDriversOwnMemoryApart) {
  SegmentFacts direct = segment({used(3 * kMiB)});
  direct.is_direct = true;

  const std::string text = text_of(holding({direct}));

  EXPECT_TRUE(has(text, "Fragmentation: none caused by Vramscope")) << text;
  EXPECT_FALSE(has(text, "without a new segment")) << text;
}

TEST(Map, SaysThatThePoolsOfTheDriverCutTheirsThemselves) {
  SegmentFacts direct = segment({used(3 * kMiB)});
  direct.is_direct = true;
  direct.kind = Kind::stream_ordered;
  Report report = holding({direct});
  EXPECT_TRUE(has(text_of(report), "not known, because the driver's pools divide this memory."))
      << text_of(report);
  report.devices[0].facts.pool_bytes = 5 * kMiB;
  EXPECT_TRUE(
      has(text_of(report), "divide this memory and\n    keep 5.00 MiB beyond live memory.\n"))
      << text_of(report);
}

std::string text_when_refused(const Report& report, std::uint64_t bytes, std::uint64_t of) {
  MapMoment moment{.text = "when memory ran out", .refused = sample_refusals().events[0]};
  moment.refused->bytes = bytes;
  moment.refusals = of;
  return text_of(report, moment, {.width = 200});
}

TEST(Map, SaysWhatWasRefusedWhenMemoryRanOut) {
  const std::string text = text_when_refused(fragmented(), 150 * kMiB, 1);
  EXPECT_TRUE(has(text,
                  "refused then: 150 MiB, the driver had 124 MiB free; with the stranded 29.9 MiB "
                  "it would have had enough"))
      << text;
  EXPECT_TRUE(has(text_when_refused(fragmented(), 150 * kMiB, 2),
                  "refused then: 150 MiB (the 1st of 2), the driver had"));
}

TEST(Map, SaysWhichHolesServeWhatWasRefused) {
  Report report = holding({segment({used(10 * kMiB), free_of(90 * kMiB)})});
  report.process.mode = "cache";
  report.process.options = {{"device_memory_limit", "100MiB"}, {"policy", "pytorch"}};
  MapMoment moment{.text = "when memory ran out", .refused = sample_refusals().events[0]};
  OomEvent& event = *moment.refused;
  event.by_limit = true;
  event.bytes = 256 << 10;
  event.reserved_bytes = 100 * kMiB;
  event.direct_bytes = event.rounding_bytes = 0;
  event.native_free_bytes = event.free_bytes + 80 * kMiB;
  const std::string text = text_of(report, moment, {.width = 200});
  EXPECT_TRUE(has(text,
                  "refused then: 256 KiB, 0 B free under the limit of 100 MiB; 90.0 MiB of what is "
                  "stranded serve requests above 1.00 MiB only; --policy native-safe would have "
                  "served it"))
      << text;
}

// It once said that native-safe would have served it, and nothing of why it was refused.
TEST(Map, SaysThatASegmentOfThePolicyWasRefused) {
  Report report = holding({segment({used(84 * kMiB)})});
  report.process.mode = "cache";
  report.process.options = {
      {"device_memory_limit", "100MiB"}, {"policy", "pytorch"}, {"exact_fallback", "off"}};
  MapMoment moment{.text = "when memory ran out", .refused = sample_refusals().events[0]};
  OomEvent& event = *moment.refused;
  event.by_limit = true;
  event.bytes = 9 * kMiB;
  event.reserved_bytes = 84 * kMiB;
  event.direct_bytes = event.rounding_bytes = event.context_bytes = 0;
  event.native_free_bytes = event.free_bytes - 24 * kMiB;
  const std::string text = text_of(report, moment, {.width = 200});
  EXPECT_TRUE(has(text,
                  "refused then: 9.00 MiB, 16.0 MiB free under the limit of 100 MiB; --policy "
                  "pytorch asked for a segment of 20.0 MiB, --exact-fallback off for none of its "
                  "size\n"))
      << text;
}

// It once said hardly, and below that it would have been enough.
TEST(Map, LittleFragmentationMayBeEnoughToRefuse) {
  const Report report = holding({segment({used(98 * kMiB), free_of(2 * kMiB)})});
  EXPECT_TRUE(
      has(text_when_refused(report, 126 * kMiB, 1),
          "Fragmentation: little, but enough to refuse 126 MiB; 2.00 MiB is stranded (2.0 %)"))
      << text_when_refused(report, 126 * kMiB, 1);
  EXPECT_TRUE(has(text_when_refused(report, 127 * kMiB, 1), "Fragmentation: hardly any; 2.00 MiB"));
}

// --min-bytes is of what was requested, and once found none of the 2 MiB that were drawn.
TEST(Map, SaysWhatWasRequestedOfABlockThatIsLarger) {
  Report report = fragmented();
  report.devices[0].segments[0].blocks[1].requested_size = 1536 * kKiB;
  EXPECT_TRUE(has(text_of(report, 120), "@ 2.00 MiB (requested 1.50 MiB), 6.00 s old; freeing it"))
      << text_of(report, 120);
}

TEST(Map, AsJsonHasTheFiguresAndEveryBlock) {
  const Report report = fragmented();
  const MapMoment moment{.text = "at the end", .at_ns = 7};

  const json shown = json::parse(map_json(report, memory_map(report), moment, sample_names(), 0));

  EXPECT_EQ(shown["at_ns"], 7);
  const json& place = shown["places"][0];
  EXPECT_EQ(place["kind"], "device");
  EXPECT_EQ(place["stranded_bytes"], 28 * kMiB + 1920 * kKiB);
  EXPECT_EQ(place["external_fragmentation_permille"], 599);
  EXPECT_EQ(place["pinned_by"][0]["site"], 0);
  EXPECT_EQ(place["segments"][0]["pin"]["gives_back_bytes"], 20 * kMiB);
  EXPECT_EQ(place["segments"][0]["blocks"].size(), 3U);
  EXPECT_EQ(place["segments"][0]["blocks"][1]["born_ns"], 4'000'000'000);
  EXPECT_TRUE(place["segments"][4]["pin"].is_null());
  EXPECT_EQ(place["segments"].size(), 5U);
}

}  // namespace
}  // namespace vramscope
