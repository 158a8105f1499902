// Numbers, names and tables as a person reads them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/format.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <ctime>
#include <limits>

namespace vramscope {
namespace {

constexpr Page kPlain{.width = 40};
constexpr Page kRich{.width = 40, .unicode = true, .colour = true};

TEST(Format, WideLettersTakeTwoColumnsAndMarksNone) {
  if (setlocale(LC_CTYPE, "C.UTF-8") == nullptr) GTEST_SKIP() << "no locale C.UTF-8";

  EXPECT_EQ(columns("\u8a13\u7df4"), 4U);
  EXPECT_EQ(columns("e\u0301"), 1U);
  EXPECT_EQ(columns("\u00e4\u2502"), 2U);
  EXPECT_EQ(fitted("\u8a13\u7df4\u8a13", 5), "\u8a13..");
  EXPECT_EQ(wrapped("\u8a13\u7df4 \u8a13\u7df4", 6), "\u8a13\u7df4\n\u8a13\u7df4");
}

TEST(Format, NamesAreListedWithCommas) {
  constexpr std::string_view kNames[] = {"peak", "live", "total"};

  EXPECT_EQ(listed(kNames), "peak, live, total");
  EXPECT_EQ(listed({}), "");
}

TEST(Format, AListingShowsItsFirstRowsOrAll) {
  EXPECT_EQ(rows_shown(7, 3), 3u);
  EXPECT_EQ(rows_shown(3, 7), 3u);
  EXPECT_EQ(rows_shown(7, 0), 7u);
}

TEST(Format, BytesHaveThreeDigitsAndABinaryUnit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(-1024), "-1.00 KiB");
  EXPECT_EQ(amount_text(~std::uint64_t{1023}), "16.0 EiB");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(15 * 1024 + 512), "15.5 KiB");
  EXPECT_EQ(bytes_text(512LL << 20), "512 MiB");
  EXPECT_EQ(bytes_text((1LL << 20) - 1), "1.00 MiB");
  EXPECT_EQ(bytes_text(80LL << 30), "80.0 GiB");
  EXPECT_EQ(bytes_text(-2048), "-2.00 KiB");
  EXPECT_EQ(bytes_text(std::numeric_limits<std::int64_t>::max()), "8.00 EiB");
  EXPECT_EQ(bytes_text(std::numeric_limits<std::int64_t>::min()), "-8.00 EiB");
}

TEST(Format, DurationsChangeUnitWithTheirSize) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1250), "1.25 us");
  EXPECT_EQ(duration_text(999'999), "1.00 ms");
  EXPECT_EQ(duration_text(3'400'000), "3.40 ms");
  EXPECT_EQ(duration_text(12'000'000'000), "12.0 s");
  EXPECT_EQ(duration_text(125'000'000'000), "2 min 05 s");
  EXPECT_EQ(duration_text(10'920'000'000'000), "3 h 02 min");
  EXPECT_EQ(duration_text(std::numeric_limits<std::uint64_t>::max()), "5124095 h 34 min");
}

TEST(Format, CountsAreGroupedByThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(-1234), "-1,234");
  EXPECT_EQ(count_text(-123), "-123");
}

TEST(Format, PercentIsHundredOnlyWhenExact) {
  EXPECT_EQ(percent_text(1, 2), "50.0 %");
  EXPECT_EQ(percent_text(0, 7), "0 %");
  EXPECT_EQ(percent_text(7, 7), "100 %");
  EXPECT_EQ(percent_text(99999, 100000), "99.9 %");
  EXPECT_EQ(percent_text(1, 100000), "<0.1 %");
  EXPECT_EQ(percent_text(0, 0), "-");
  EXPECT_EQ(percent_text(3, 2), "150 %");
}

TEST(Format, TimeIsLocal) {
  setenv("TZ", "UTC", 1);

  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(time_text(1'000'000'000'000'000'000), "2001-09-09 01:46:40 UTC");
  setenv("TZ", "XYZ-02:30", 1);  // east of Greenwich, as POSIX has it
  tzset();
  EXPECT_EQ(time_text(1'000'000'000'000'000'000), "2001-09-09 04:16:40 +02:30");
  unsetenv("TZ");
  tzset();
  EXPECT_EQ(time_text(0), "");
}

TEST(Format, BarsFillInProportion) {
  EXPECT_EQ(bar(1, 2, 10, kPlain), "#####.....");
  EXPECT_EQ(bar(1, 1'000'000, 4, kPlain), "#...");
  EXPECT_EQ(bar(0, 5, 4, kPlain), "....");
  EXPECT_EQ(bar(9, 5, 4, kPlain), "####");
  EXPECT_EQ(bar(1, 0, 4, kPlain), "....");
  EXPECT_EQ(bar(1, 2, 2, kRich), "\u2588\u2591");
}

TEST(Format, ColourIsOnlyForPagesThatHaveIt) {
  EXPECT_EQ(coloured("x", Colour::bold, kPlain), "x");
  EXPECT_EQ(coloured("x", Colour::bold, kRich), "\033[1mx\033[0m");
}

TEST(Format, TextFromFilesCannotDriveTheTerminal) {
  EXPECT_EQ(printable("a\033[2Jb\n", kRich), "a?[2Jb?");
  EXPECT_EQ(printable("z\u00fcrich", kRich), "z\u00fcrich");
  EXPECT_EQ(printable("z\u00fcrich", kPlain), "z?rich");
  EXPECT_EQ(printable("\xff\xc3", kRich), "??");
  EXPECT_EQ(printable("a\u202eb", kRich), "a?b");
  EXPECT_EQ(printable("\xed\xa0\x80", kRich), "???");
}

TEST(Format, LongTextIsCutAtCodePoints) {
  EXPECT_EQ(fitted("abcdef", 6), "abcdef");
  EXPECT_EQ(fitted("abcdefg", 6), "abcd..");
  EXPECT_EQ(fitted("\u00e4\u00f6\u00fc\u00df", 3), "\u00e4..");
  EXPECT_EQ(fitted("abc", 1), ".");
  EXPECT_EQ(fitted_stack("make (a.cpp:1) < build (b.cpp:2) < main (c.cpp:3)", 40),
            "make (a.cpp:1) < build (b.cpp:2) < ..");
  EXPECT_EQ(fitted_stack("make (a.cpp:1) < build (b.cpp:2)", 10), "make (a...");
}

TEST(Format, ShellWordsAreQuotedWhenNeeded) {
  EXPECT_EQ(shell_word("vramscope.train.4711.json"), "vramscope.train.4711.json");
  EXPECT_EQ(shell_word("my file"), "'my file'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("-x"), "-x");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a\nb\xff'\\c"), "$'a\\x0ab\\xff\\'\\\\c'");
}

TEST(Format, TablesAlignAndCutTheLastColumn) {
  Table table({{"BYTES", Table::Align::right}, {"WHERE"}});
  table.add({"1", "main"});
  table.add({"1234567", "a name that does not fit on this page"});

  EXPECT_EQ(table.text(kPlain),
            "    BYTES  WHERE\n"
            "        1  main\n"
            "  1234567  a name that does not fit on..\n");
}

}  // namespace
}  // namespace vramscope
