// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/document.h"

#include <gtest/gtest.h>

#include "reporter/report/merge.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/listing/fit.h"
#include "reporter/view/text/map_text.h"
#include "reporter/view/text/peak_text.h"
#include "reporter/view/text/report_text.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

// Rows "0", "1", .. below a title, and how many more there are.
RowsBlock rows_of(std::size_t all, std::size_t usual) {
  const auto text = [=](const ScreenRoom& room) {
    const std::size_t shown = rows_shown(all, room.most(usual));
    std::string rows = "ROWS\n";
    for (std::size_t i = 0; i < shown; ++i) rows += std::to_string(i) + "\n";
    return rows + and_more(all - shown, "row");
  };
  return {.text = text, .lines = [=](const ScreenRoom& room) { return line_count(text(room)); }};
}

// 1 line for good, 8 that repeat others, 8 of bars, 21 of rows, and the next command's two.
Document document_of_forty() {
  Document text;
  text.title("A title");
  text.drawing("r\nr\nr\nr\nr\nr\nr\nr\n", kUnlessRepeated);
  text.drawing("b\nb\nb\nb\nb\nb\nb\nb\n", kWithBars);
  text.table(rows_of(20, 20));
  text.next("peak", "r.json");
  return text;
}

std::string on_screen(std::size_t lines) {
  Page page;
  page.lines = lines;
  return fitted(document_of_forty(), page, 0, 20);
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(Document, HasTheNextCommandLastWhateverIsAddedLater) {
  Document text;
  text.next("peak", "r.json");
  text.title("A title");
  text.paragraph("and what it is of");

  EXPECT_EQ(render(text, {}), "A title\n  and what it is of\n\nNext: vramscope peak r.json\n");
}

TEST(Document, HasNoBlockOfNoWords) {
  Document text;
  text.title("");
  text.drawing("");

  EXPECT_TRUE(text.is_empty());
}

TEST(Document, NeverCutsALineAndPutsItsPathBelowWhereBothDoNotFit) {
  Document text;
  text.line("rank 3 ran out of memory in 2 calls:", "vramscope oom ranks/3.json");

  EXPECT_EQ(render(text, Page{.width = 80}),
            "rank 3 ran out of memory in 2 calls: vramscope oom ranks/3.json\n");
  EXPECT_EQ(render(text, Page{.width = 60}),
            "rank 3 ran out of memory in 2 calls:\n  vramscope oom ranks/3.json\n");
}

TEST(Document, EscapesTextsAndLeavesDrawingsAsTheyAre) {
  Document text;
  text.heading("a\x1b[2J");
  text.title("b\n");
  text.paragraph("c\x07");
  text.deeper("d\r");
  text.line("e\t", "f\x1b");
  text.nothing("g\x7f");
  text.drawing("h\x1b[1mi\n");

  EXPECT_EQ(render(text, {}), "a?[2J\nb?\n  c?\n    d?\ne? f?\ng?\nh\x1b[1mi\n");
}

TEST(Document, ColoursWholeBlocksButNotTheirLastNewline) {
  Document text;
  text.paragraph("low", {}, Colour::yellow);
  const Page page{.colour = true};

  EXPECT_EQ(render(text, page), coloured("  low", Colour::yellow, page) + "\n");
}

TEST(Document, NamesBelowATableTheRowsAndColumnsThatAreLeftOut) {
  Table table({{"SOME LONG TITLE", Table::Align::right, 1}, {"NAME"}});
  table.add({"1", std::string(60, 'x')});
  Document text;
  text.table(Table({{"EMPTY"}}), "nothing");
  text.table(table, "  and 7 more rows\n");

  EXPECT_EQ(text.blocks().size(), 1U);
  EXPECT_EQ(render(text, Page{.width = 50}),
            table.text(Page{.width = 50}) +
                "  and 7 more rows\n  No room for SOME LONG TITLE: --wide shows all.\n");
}

TEST(Document, PutsAGapOnlyBeforeBlocksThatAreThere) {
  Document text, part;
  text.line("a");
  text.append_apart(Document());
  part.line("b");
  text.append_apart(part);

  EXPECT_EQ(render(text, {}), "a\n\nb\n");
}

TEST(Document, HasOptionsOfItsOwnInTheNextCommandBesideThePagesFilters) {
  Document text;
  text.next("leaks --full", "r.json", {{"--suppress", "my.supp"}});

  EXPECT_EQ(render(text, Page{.filters = {{"--kind", "pinned"}}}),
            "\nNext: vramscope leaks --full --kind pinned --suppress my.supp r.json\n");
}

TEST(Document, SaysThatNothingPassesByABlockAndNotByWords) {
  Document words, block;
  words.paragraph("Nothing that passes was allocated.");
  block.append(words);
  block.nothing("Nothing that passes was freed.");

  EXPECT_FALSE(words.shows_nothing());
  EXPECT_TRUE(block.shows_nothing());
}

TEST(Document, ShowsAnAppendedBlockWhereBothAllow) {
  Document inner, text;
  inner.drawing("bars\n", kWithBars);
  inner.drawing("rows\n", {.least_rows = 3});
  text.append(inner, kWhereBrief);

  EXPECT_EQ(render(text, {}), "");
  EXPECT_EQ(render(text, {}, {.brevity = Brevity::no_details, .rows = 3}), "bars\nrows\n");
  EXPECT_EQ(render(text, {}, {.brevity = Brevity::no_bars, .rows = 2}), "");
}

TEST(Fit, LeavesATextThatFitsAndOneOfNoScreen) {
  EXPECT_EQ(on_screen(40), render(document_of_forty(), {}));
  EXPECT_EQ(on_screen(0), render(document_of_forty(), {}));
}

TEST(Fit, LosesWhatIsRepeatedThenRowsThenBarsThenMoreRows) {
  const std::string repeated = on_screen(33);
  EXPECT_FALSE(has(repeated, "r\n"));
  EXPECT_TRUE(has(repeated, "\nb\n"));
  EXPECT_TRUE(has(repeated, "\n19\n"));
  EXPECT_TRUE(has(repeated,
                  "  and 8 lines for which the terminal has no room: -n 20 shows all\n\n"
                  "Next: vramscope peak r.json\n"));

  const std::string rows = on_screen(24);
  EXPECT_TRUE(has(rows, "\nb\n")) << rows;
  EXPECT_TRUE(has(rows, "\n9\n  and 10 more rows\n")) << rows;

  const std::string bars = on_screen(14);
  EXPECT_FALSE(has(bars, "\nb\n")) << bars;
  EXPECT_TRUE(has(bars, "\n7\n  and 12 more rows\n")) << bars;

  EXPECT_TRUE(has(on_screen(7), "ROWS\n0\n  and 19 more rows\n")) << on_screen(7);
}

TEST(Fit, TakesNoMoreLinesThanThereAre) {
  for (std::size_t lines = 7; lines <= 40; ++lines) {
    EXPECT_LE(line_count(on_screen(lines)), lines);
  }
}

// Sizes decide what goes: they are of what is drawn then.
TEST(Fit, KnowsTheLinesOfEveryRoomWithoutDrawingIt) {
  Report report = golden_report();
  add_joint_bounds(report);
  const NameFrame name = golden_names();
  const std::vector<MapPlace> places = memory_map(report);
  const MapMoment moment{.text = "at the end"};
  for (const std::size_t width : {std::size_t{60}, std::size_t{80}, std::size_t{200}}) {
    const Page page{.width = width, .unicode = true};
    const ShownReport shown{report, "r.json", leaked_of(report, name)};
    for (const Document& text :
         {peak_text(report, peak_answer(report, name), name, page, 10),
          report_text(shown, name, page, kReportSites),
          map_text(report, map_answer(report, places, moment, name), moment, name, page, 5)}) {
      const DocumentSize size(text, page);
      for (const Brevity brevity :
           {Brevity::no_details, Brevity::no_repeats, Brevity::no_bars, Brevity::least}) {
        for (std::size_t rows = 1; rows <= 12; ++rows) {
          const ScreenRoom room{.brevity = brevity, .rows = rows};
          EXPECT_EQ(size.lines(room), line_count(render(text, page, room))) << width << ' ' << rows;
        }
      }
    }
  }
}

}  // namespace
}  // namespace vramscope
