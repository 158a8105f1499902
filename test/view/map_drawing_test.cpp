// How segments are drawn, in the room that a screen leaves them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/listing/map_cells.h"
#include "reporter/view/text/map_text.h"
#include "test/view/made_segments.h"

namespace vramscope {
namespace {

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
  Fragmentation: yes, 29.9 MiB is stranded (36.4 %): free
    beside live blocks, in 3 segments.
     BYTES   SHARE  RESERVED MEMORY
  32.1 MiB  39.2 %  in 7 blocks (requested 32.1 MiB)
  29.9 MiB  36.4 %  stranded: free, but cannot be released
  20.0 MiB  24.4 %  idle: 1 segment without a live block
  largest free hole 20.0 MiB of 49.9 MiB free;
    external fragmentation 59.9 % (1 - largest / free),
    counting memory that can be released
  without a new segment, Vramscope's cache can still serve
    requests up to 1.00 MiB, and larger ones up to 20.0 MiB
  STRANDED  GIVES BACK  HELD BY
  28.0 MiB    20.0 MiB  make_weights (train.cpp:42) < main
  1.88 MiB         0 B  libnet.so+0x40 < main (train.cpp:99)
  No room for SEGMENTS, BLOCKS, OLDEST: --wide shows all.

  large pool: 4 segments, 80.0 MiB; a character is 512 KiB
  # a block in use, = the next block in use, . free,
    @ holds its segment
  20.0 MiB at 0x7f0000000000: 18.0 MiB free,
    largest hole 12.0 MiB
    |........................@@@@............|
    @ 2.00 MiB, 6.00 s old; freeing it releases 20.0 MiB to
      the driver: make_weights (train.cpp:42) < main
      (train.cpp:99)
  20.0 MiB at 0x20000000: 10.0 MiB free,
    largest hole 10.0 MiB
    |################@@@@....................|
    @ 2.00 MiB, 10.0 s old; freeing it leaves a hole of 12.0
      MiB (1 of 2 blocks): make_weights (train.cpp:42) <
      main (train.cpp:99)
    |########################================|
  idle segments: 1 x 20.0 MiB (-n 0 draws them)

  small pool (1 MiB and less): 1 segment, 2.00 MiB;
    a character is 64.0 KiB
  # a block in use, . free, @ holds its segment
  2.00 MiB at 0x1000: 1.88 MiB free, largest hole 1.88 MiB
    |#@..............................|
    @ 64.0 KiB, 10.0 s old; freeing it leaves a hole of 1.94
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
  EXPECT_NE(text.find("\n  in a new segment: what the driver has free (56.0 MiB, measured 1.20 ms "
                      "earlier), plus "
                      "20.0 MiB that the cache can release\n"),
            std::string::npos)
      << text;
}

TEST(Map, IsReadAtEightyColumns) {
  EXPECT_EQ(text_of(fragmented(), 80, 1), R"(GPU 0 at the end, after 10.0 s: 82.0 MiB in 5 segments
  Fragmentation: yes, 29.9 MiB is stranded (36.4 %): free beside live blocks,
    in 3 segments.
     BYTES   SHARE  RESERVED MEMORY
  32.1 MiB  39.2 %  in 7 blocks (requested 32.1 MiB)
  29.9 MiB  36.4 %  stranded: free, but cannot be released
  20.0 MiB  24.4 %  idle: 1 segment without a live block
  largest free hole 20.0 MiB of 49.9 MiB free;
    external fragmentation 59.9 % (1 - largest / free),
    counting memory that can be released
  without a new segment, Vramscope's cache can still serve requests up to 1.00
    MiB, and larger ones up to 20.0 MiB
  STRANDED  GIVES BACK  OLDEST  HELD BY
  28.0 MiB    20.0 MiB  10.0 s  make_weights (train.cpp:42) < main
  No room for SEGMENTS, BLOCKS: --wide shows all.
  and 1 more row

  large pool: 4 segments, 80.0 MiB; a character is 512 KiB
  # a block in use, = the next block in use, . free, @ holds its segment
  20.0 MiB at 0x7f0000000000: 18.0 MiB free, largest hole 12.0 MiB
    |........................@@@@............|
    @ 2.00 MiB, 6.00 s old; freeing it releases 20.0 MiB to the driver:
      make_weights (train.cpp:42) < main (train.cpp:99)
    |########################================|
  idle segments: 1 x 20.0 MiB (-n 0 draws them)
  and 1 more segment: -n 0 draws all

  small pool (1 MiB and less): 1 segment, 2.00 MiB; a character is 32.0 KiB
  # a block in use, . free, @ holds its segment
  2.00 MiB at 0x1000: 1.88 MiB free, largest hole 1.88 MiB
    |##@@............................................................|
    @ 64.0 KiB, 10.0 s old; freeing it leaves a hole of 1.94 MiB (1 of 2
      blocks): libnet.so+0x40 < main (train.cpp:99)
)");
}

TEST(Map, UsesTwoHundredColumns) {
  EXPECT_EQ(text_of(fragmented(), 200), R"(GPU 0 at the end, after 10.0 s: 82.0 MiB in 5 segments
  Fragmentation: yes, 29.9 MiB is stranded (36.4 %): free beside live blocks, in 3 segments.
     BYTES   SHARE  RESERVED MEMORY
  32.1 MiB  39.2 %  in 7 blocks (requested 32.1 MiB)
  29.9 MiB  36.4 %  stranded: free, but cannot be released
  20.0 MiB  24.4 %  idle: 1 segment without a live block
  largest free hole 20.0 MiB of 49.9 MiB free; external fragmentation 59.9 % (1 - largest / free), counting memory that can be released
  without a new segment, Vramscope's cache can still serve requests up to 1.00 MiB, and larger ones up to 20.0 MiB
  STRANDED  SEGMENTS  GIVES BACK  BLOCKS  OLDEST  HELD BY
  28.0 MiB         2    20.0 MiB       2  10.0 s  make_weights (train.cpp:42) < main (train.cpp:99)
  1.88 MiB         1         0 B       1  10.0 s  libnet.so+0x40 < main (train.cpp:99)

  large pool: 4 segments, 80.0 MiB; a character is 128 KiB
  # a block in use, = the next block in use, . free, @ holds its segment
  20.0 MiB at 0x7f0000000000: 18.0 MiB free, largest hole 12.0 MiB
    |................................................................................................@@@@@@@@@@@@@@@@................................................|
    @ 2.00 MiB, 6.00 s old; freeing it releases 20.0 MiB to the driver: make_weights (train.cpp:42) < main (train.cpp:99)
  20.0 MiB at 0x20000000: 10.0 MiB free, largest hole 10.0 MiB
    |################################################################@@@@@@@@@@@@@@@@................................................................................|
    @ 2.00 MiB, 10.0 s old; freeing it leaves a hole of 12.0 MiB (1 of 2 blocks): make_weights (train.cpp:42) < main (train.cpp:99)
    |################################################################################################================================================================|
  idle segments: 1 x 20.0 MiB (-n 0 draws them)

  small pool (1 MiB and less): 1 segment, 2.00 MiB; a character is 16.0 KiB
  # a block in use, . free, @ holds its segment
  2.00 MiB at 0x1000: 1.88 MiB free, largest hole 1.88 MiB
    |####@@@@........................................................................................................................|
    @ 64.0 KiB, 10.0 s old; freeing it leaves a hole of 1.94 MiB (1 of 2 blocks): libnet.so+0x40 < main (train.cpp:99)
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

// Seen on a terminal: rows alone were left out, and four kinds took more lines than it has.
TEST(Map, WithoutRoomLosesFiguresOfMemoryThatHasNoHole) {
  const Report report = holding({segment({used(20 * kMiB)})});
  const MapMoment moment{.text = "at the end", .at_ns = report.timeline.duration_ns};
  const auto text = [&](Brevity brevity) {
    return text_of(report, moment, {}, 5, {.brevity = brevity});
  };

  EXPECT_TRUE(has(text(Brevity::none), "RESERVED MEMORY")) << text(Brevity::none);
  const char* const full =
      "without a new segment, Vramscope's cache cannot serve any further request";
  EXPECT_TRUE(has(text(Brevity::none), full)) << text(Brevity::none);
  EXPECT_FALSE(has(text(Brevity::no_repeats), "without a new segment"));
  EXPECT_FALSE(has(text(Brevity::no_bars), "RESERVED MEMORY"));
}

}  // namespace
}  // namespace vramscope
