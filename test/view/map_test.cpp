// What is said of fragmentation, and how segments are drawn.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/filter/instant.h"
#include "reporter/view/listing/map_cells.h"
#include "reporter/view/text/map_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

using nlohmann::json;

constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr Address kFirst = 0x7f0000000000;

struct Piece {
  std::uint64_t bytes = 0;
  BlockState state = BlockState::inactive;
  std::int64_t site = -1;
  std::int64_t born_ns = -1;
};
constexpr Piece free_of(std::uint64_t bytes) { return {.bytes = bytes}; }
constexpr Piece used(std::uint64_t bytes, std::int64_t site = 0, std::int64_t born_ns = 0) {
  return {bytes, BlockState::active_allocated, site, born_ns};
}

SegmentFacts segment(std::vector<Piece> pieces, Address address = kFirst) {
  SegmentFacts facts;
  facts.address = address;
  for (const Piece& piece : pieces) {
    facts.blocks.push_back({.address = address + facts.total_size,
                            .size = piece.bytes,
                            .requested_size = piece.bytes,
                            .state = piece.state,
                            .site = piece.site,
                            .born_ns = piece.born_ns});
    facts.total_size += piece.bytes;
    if (piece.state == BlockState::active_allocated) facts.allocated_size += piece.bytes;
  }
  return facts;
}

Report holding(std::vector<SegmentFacts> segments) {
  Report report = sample_report();
  report.process.options = {{"policy", "pytorch"}};
  report.timeline.duration_ns = 10'000'000'000;
  report.devices[0].segments = std::move(segments);
  return report;
}

std::string text_of(const Report& report, std::size_t width = 80, std::size_t most = 5) {
  const MapMoment moment{.text = "at the end", .at_ns = report.timeline.duration_ns};
  return map_text(report, memory_map(report), moment, sample_names(), {.width = width}, most);
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

// Two segments that one block each pins, one of small blocks, an idle one and a full one.
Report fragmented() {
  SegmentFacts small = segment({used(64 * kKiB), used(64 * kKiB, 1), free_of(1920 * kKiB)}, 0x1000);
  small.is_small = true;
  return holding(
      {segment({free_of(12 * kMiB), used(2 * kMiB, 0, 4'000'000'000), free_of(6 * kMiB)}),
       segment({used(8 * kMiB, 1), used(2 * kMiB), free_of(10 * kMiB)}, 0x20000000), small,
       segment({free_of(20 * kMiB)}, 0x40000000),
       segment({used(12 * kMiB), used(8 * kMiB, 1)}, 0x60000000)});
}

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
  EXPECT_TRUE(has(text_of(report), "served without a new segment: whole segments of 8.00 MiB,"));
}

// 1 - 20 / 1280 of it: many pieces, each of which goes back.
TEST(Map, SaysThatPiecesWhichCanGoBackAreNoFragmentation) {
  Report report = fragmented();
  report.devices[0].segments.assign(64, segment({free_of(20 * kMiB)}));

  const std::string text = text_of(report, 200);

  EXPECT_TRUE(has(text, "Fragmentation: no, all that is free can go back to the driver.\n"))
      << text;
  EXPECT_FALSE(has(text, "external fragmentation"));
  EXPECT_TRUE(has(text, " free; each can go back"));
  EXPECT_TRUE(has(text,
                  "large pool: 64 segments, 1.25 GiB\n"
                  "  idle, all of it free: 64 of 20.0 MiB (-n 0 draws them)\n"))
      << text;
  EXPECT_TRUE(
      has(text, "\nNo block was live any more at the end: vramscope run --trace FILE, then"));
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

  EXPECT_TRUE(has(text, "Fragmentation: none of ours")) << text;
  EXPECT_FALSE(has(text, "without a new segment")) << text;
}

TEST(Map, SaysThatThePoolsOfTheDriverCutTheirsThemselves) {
  SegmentFacts direct = segment({used(3 * kMiB)});
  direct.is_direct = true;
  direct.kind = Kind::stream_ordered;
  Report report = holding({direct});
  EXPECT_TRUE(has(text_of(report), "nobody knows, the driver's pools cut these."))
      << text_of(report);
  report.devices[0].facts.pool_bytes = 5 * kMiB;
  EXPECT_TRUE(has(text_of(report), "cut these,\n    and keep 5.00 MiB that was freed.\n"))
      << text_of(report);
}

TEST(Map, DrawsToScaleAndTellsBlocksApart) {
  EXPECT_EQ(bytes_of_cell(20 * kMiB, 74), 512 * kKiB);
  EXPECT_EQ(bytes_of_cell(64 * 512, 64), 512U);
  EXPECT_EQ(bytes_of_cell(64 * 512 + 1, 64), 1024U);
  const SegmentFacts facts = segment({used(kMiB),
                                      used(kMiB),
                                      used(kKiB),
                                      free_of(3 * kMiB - kKiB),
                                      {.bytes = kMiB, .state = BlockState::active_pending_free},
                                      used(kMiB)});
  const MapSegment drawn_one{.facts = &facts, .pin = 5};

  const std::vector<Cell> cells = cells_of(drawn_one, kMiB);

  EXPECT_EQ(drawn(cells, 0, 99, {}), "#=+..~@");
  EXPECT_EQ(drawn(cells, 2, 2, {}), "+.");
  EXPECT_EQ(drawn(cells, 6, 1, {.colour = true}), "\033[31m@\033[0m");
}

TEST(Map, IsReadAtSixtyColumns) {
  EXPECT_EQ(text_of(fragmented(), 60), R"(GPU 0 at the end, after 10.0 s: 82.0 MiB in 5 segments
  Fragmentation: yes, 29.9 MiB (36.4 %) is stranded: free
    beside live blocks, in 3 segments.
     BYTES   SHARE  OF WHAT IS RESERVED
  32.1 MiB  39.2 %  in 7 blocks (requested 32.1 MiB)
  29.9 MiB  36.4 %  stranded: free, and cannot go back
  20.0 MiB  24.4 %  idle: 1 segment without a live block
  largest free hole 20.0 MiB of 49.9 MiB free;
    external fragmentation 59.9 % (1 - largest / free),
    counting what can go back
  served without a new segment: requests up to 1.00 MiB,
    larger ones up to 20.0 MiB
  STRANDED  GIVES BACK  PINNED BY
  28.0 MiB    20.0 MiB  make_weights (train.cpp:42) < main
  1.88 MiB         0 B  libnet.so+0x40 < main (train.cpp:99)
  No room for SEGMENTS, BLOCKS, OLDEST: --wide shows all.

  large pool: 4 segments, 80.0 MiB; a character is 512 KiB
  # a block in use, = its neighbour, . free,
    @ pins its segment
  20.0 MiB at 0x7f0000000000: 18.0 MiB free,
    largest hole 12.0 MiB
    |........................@@@@............|
    @ 2.00 MiB, 6.00 s old; its free gives 20.0 MiB back to
      the driver: make_weights (train.cpp:42) < main
      (train.cpp:99)
  20.0 MiB at 0x20000000: 10.0 MiB free,
    largest hole 10.0 MiB
    |################@@@@....................|
    @ 2.00 MiB, 10.0 s old; its free gives a hole of 12.0
      MiB (1 of 2 blocks): make_weights (train.cpp:42) <
      main (train.cpp:99)
    |########################================|
  idle, all of it free: 1 of 20.0 MiB (-n 0 draws them)

  small pool (1 MiB and less): 1 segment, 2.00 MiB;
    a character is 64.0 KiB
  # a block in use, . free, @ pins its segment
  2.00 MiB at 0x1000: 1.88 MiB free, largest hole 1.88 MiB
    |#@..............................|
    @ 64.0 KiB, 10.0 s old; its free gives a hole of 1.94
      MiB (1 of 2 blocks): libnet.so+0x40 < main
      (train.cpp:99)
)");
}

TEST(Map, SaysWhatTheDriverCouldStillGive) {
  Report report = fragmented();
  EXPECT_EQ(text_of(report, 200, 1).find("in a new segment"),
            std::string::npos);  // it was not asked

  report.devices[0].facts.free_bytes = 56 << 20;
  report.devices[0].facts.free_bytes_age_ns = 1'200'000;
  const std::string text = text_of(report, 200, 1);
  EXPECT_NE(
      text.find("\n  in a new segment: what the driver has, 56.0 MiB free 1.20 ms before, and "
                "20.0 MiB that goes back\n"),
      std::string::npos)
      << text;
}

TEST(Map, IsReadAtEightyColumns) {
  EXPECT_EQ(text_of(fragmented(), 80, 1), R"(GPU 0 at the end, after 10.0 s: 82.0 MiB in 5 segments
  Fragmentation: yes, 29.9 MiB (36.4 %) is stranded: free beside live blocks,
    in 3 segments.
     BYTES   SHARE  OF WHAT IS RESERVED
  32.1 MiB  39.2 %  in 7 blocks (requested 32.1 MiB)
  29.9 MiB  36.4 %  stranded: free, and cannot go back
  20.0 MiB  24.4 %  idle: 1 segment without a live block
  largest free hole 20.0 MiB of 49.9 MiB free;
    external fragmentation 59.9 % (1 - largest / free),
    counting what can go back
  served without a new segment: requests up to 1.00 MiB,
    larger ones up to 20.0 MiB
  STRANDED  GIVES BACK  OLDEST  PINNED BY
  28.0 MiB    20.0 MiB  10.0 s  make_weights (train.cpp:42) < main
  No room for SEGMENTS, BLOCKS: --wide shows all.
  and 1 more site

  large pool: 4 segments, 80.0 MiB; a character is 512 KiB
  # a block in use, = its neighbour, . free, @ pins its segment
  20.0 MiB at 0x7f0000000000: 18.0 MiB free, largest hole 12.0 MiB
    |........................@@@@............|
    @ 2.00 MiB, 6.00 s old; its free gives 20.0 MiB back to the driver:
      make_weights (train.cpp:42) < main (train.cpp:99)
    |########################================|
  idle, all of it free: 1 of 20.0 MiB (-n 0 draws them)
  and 1 more segment: -n 0 draws all

  small pool (1 MiB and less): 1 segment, 2.00 MiB; a character is 32.0 KiB
  # a block in use, . free, @ pins its segment
  2.00 MiB at 0x1000: 1.88 MiB free, largest hole 1.88 MiB
    |##@@............................................................|
    @ 64.0 KiB, 10.0 s old; its free gives a hole of 1.94 MiB (1 of 2 blocks):
      libnet.so+0x40 < main (train.cpp:99)
)");
}

TEST(Map, UsesTwoHundredColumns) {
  EXPECT_EQ(text_of(fragmented(), 200), R"(GPU 0 at the end, after 10.0 s: 82.0 MiB in 5 segments
  Fragmentation: yes, 29.9 MiB (36.4 %) is stranded: free beside live blocks, in 3 segments.
     BYTES   SHARE  OF WHAT IS RESERVED
  32.1 MiB  39.2 %  in 7 blocks (requested 32.1 MiB)
  29.9 MiB  36.4 %  stranded: free, and cannot go back
  20.0 MiB  24.4 %  idle: 1 segment without a live block
  largest free hole 20.0 MiB of 49.9 MiB free; external fragmentation 59.9 % (1 - largest / free), counting what can go back
  served without a new segment: requests up to 1.00 MiB, larger ones up to 20.0 MiB
  STRANDED  SEGMENTS  GIVES BACK  BLOCKS  OLDEST  PINNED BY
  28.0 MiB         2    20.0 MiB       2  10.0 s  make_weights (train.cpp:42) < main (train.cpp:99)
  1.88 MiB         1         0 B       1  10.0 s  libnet.so+0x40 < main (train.cpp:99)

  large pool: 4 segments, 80.0 MiB; a character is 128 KiB
  # a block in use, = its neighbour, . free, @ pins its segment
  20.0 MiB at 0x7f0000000000: 18.0 MiB free, largest hole 12.0 MiB
    |................................................................................................@@@@@@@@@@@@@@@@................................................|
    @ 2.00 MiB, 6.00 s old; its free gives 20.0 MiB back to the driver: make_weights (train.cpp:42) < main (train.cpp:99)
  20.0 MiB at 0x20000000: 10.0 MiB free, largest hole 10.0 MiB
    |################################################################@@@@@@@@@@@@@@@@................................................................................|
    @ 2.00 MiB, 10.0 s old; its free gives a hole of 12.0 MiB (1 of 2 blocks): make_weights (train.cpp:42) < main (train.cpp:99)
    |################################################################################################================================================================|
  idle, all of it free: 1 of 20.0 MiB (-n 0 draws them)

  small pool (1 MiB and less): 1 segment, 2.00 MiB; a character is 16.0 KiB
  # a block in use, . free, @ pins its segment
  2.00 MiB at 0x1000: 1.88 MiB free, largest hole 1.88 MiB
    |####@@@@........................................................................................................................|
    @ 64.0 KiB, 10.0 s old; its free gives a hole of 1.94 MiB (1 of 2 blocks): libnet.so+0x40 < main (train.cpp:99)
)");
}

TEST(Map, OfNothingSaysSo) { EXPECT_EQ(text_of(holding({})), "No segment was held at the end.\n"); }

TEST(Map, OfWhatPassesSaysSo) {
  Report report = fragmented();
  filter_report(report, {.device = 0}, {.subject = Subject::segments}, sample_names());
  EXPECT_TRUE(has(text_of(report, 200), "Fragmentation: yes, ")) << "all of the device";
  filter_report(report, {.site = "make_weights"}, {.subject = Subject::segments}, sample_names());
  EXPECT_TRUE(has(text_of(report, 200), "Fragmentation of what passes: yes, "));
  filter_report(report, {.site = "nobody"}, {.subject = Subject::segments}, sample_names());
  EXPECT_EQ(text_of(report), "Nothing that passes was live at the end.\n");
}

std::string text_when_refused(const Report& report, std::uint64_t bytes, std::uint64_t of) {
  MapMoment moment{.text = "when memory ran out", .refused = sample_refusals().events[0]};
  moment.refused->bytes = bytes;
  moment.refusals = of;
  return map_text(report, memory_map(report), moment, sample_names(), {.width = 200}, 5);
}

// Seen on a terminal: rows alone were left out, and four kinds took more lines than it has.
TEST(Map, WithoutRoomLosesFiguresOfMemoryThatHasNoHole) {
  const Report report = holding({segment({used(20 * kMiB)})});
  const MapMoment moment{.text = "at the end", .at_ns = report.timeline.duration_ns};
  const auto text = [&](Brevity brevity) {
    return map_text(report, memory_map(report), moment, sample_names(), {.brevity = brevity}, 5);
  };

  EXPECT_TRUE(has(text(Brevity::none), "OF WHAT IS RESERVED")) << text(Brevity::none);
  EXPECT_TRUE(has(text(Brevity::none), "served without a new segment"));
  EXPECT_FALSE(has(text(Brevity::no_repeats), "served without a new segment"));
  EXPECT_FALSE(has(text(Brevity::no_bars), "OF WHAT IS RESERVED"));
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
  const std::string text =
      map_text(report, memory_map(report), moment, sample_names(), {.width = 200}, 5);
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
  const std::string text =
      map_text(report, memory_map(report), moment, sample_names(), {.width = 200}, 5);
  EXPECT_TRUE(has(text,
                  "refused then: 9.00 MiB, 16.0 MiB free under the limit of 100 MiB; --policy "
                  "pytorch asked for a segment of 20.0 MiB, --exact-fallback off for none of its "
                  "size\n"))
      << text;
}

// It once said hardly, and below that it would have been enough.
TEST(Map, LittleFragmentationMayBeEnoughToRefuse) {
  const Report report = holding({segment({used(98 * kMiB), free_of(2 * kMiB)})});
  EXPECT_TRUE(has(text_when_refused(report, 126 * kMiB, 1),
                  "Fragmentation: little, but enough to refuse 126 MiB: 2.00 MiB (2.0 %)"))
      << text_when_refused(report, 126 * kMiB, 1);
  EXPECT_TRUE(has(text_when_refused(report, 127 * kMiB, 1), "Fragmentation: hardly, 2.00 MiB"));
}

// --min-bytes is of what was requested, and once found none of the 2 MiB that were drawn.
TEST(Map, SaysWhatWasRequestedOfABlockThatIsLarger) {
  Report report = fragmented();
  report.devices[0].segments[0].blocks[1].requested_size = 1536 * kKiB;
  EXPECT_TRUE(has(text_of(report, 120), "@ 2.00 MiB (requested 1.50 MiB), 6.00 s old; its"))
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

TEST(Instant, IsANumberAndAUnit) {
  EXPECT_EQ(read_instant("1.5s"), 1'500'000'000U);
  EXPECT_EQ(read_instant("2"), 2'000'000'000U);
  EXPECT_EQ(read_instant("200ms"), 200'000'000U);
  EXPECT_EQ(read_instant("3.40 ms"), 3'400'000U);  // as we write it
  EXPECT_EQ(read_instant("2min"), 120'000'000'000U);
  for (const char* bad :
       {"", "s", "-1", "1e3", "inf", "1.2.3s", "5 years", "1ss", "1000000000000h"}) {
    EXPECT_FALSE(read_instant(bad)) << bad;
  }
}

}  // namespace
}  // namespace vramscope
