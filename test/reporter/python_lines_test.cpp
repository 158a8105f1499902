// The table of lines, as CPython's Objects/locations.md describes it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python/lines.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace vramscope {
namespace {

using namespace std::string_literals;

// An entry's first byte.
char first(unsigned kind, unsigned units) {
  return static_cast<char>(0x80U | kind << 3 | (units - 1));
}

TEST(PythonLines, CountsFromTheFirstLine) {
  // Short form, one byte of columns: the same line.
  const std::string table = {first(0, 1), '\x12', first(9, 2), '\x34'};

  EXPECT_EQ(python_line(table, 7, 0), 7U);
  EXPECT_EQ(python_line(table, 7, 4), 7U);
  EXPECT_EQ(python_line(table, 7, 6), 0U);  // behind the last entry
}

TEST(PythonLines, GoesOnByUpToTwoLines) {
  const std::string table = {first(10, 1), 1, 2, first(11, 1), 1, 2, first(12, 8), 1, 2};

  EXPECT_EQ(python_line(table, 10, 0), 10U);
  EXPECT_EQ(python_line(table, 10, 2), 11U);
  EXPECT_EQ(python_line(table, 10, 4), 13U);
  EXPECT_EQ(python_line(table, 10, 18), 13U);
}

TEST(PythonLines, GoesBackAndFarByLongEntries) {
  // 13: a signed number, lowest bit the sign: -3 is 7; 100 is 200 = 8 + 3 * 64.
  const std::string table = {first(13, 1), '\x48', 3, first(13, 1), 7, first(14, 1), 2, 0, 1, 1};

  EXPECT_EQ(python_line(table, 5, 0), 105U);
  EXPECT_EQ(python_line(table, 5, 2), 102U);
  EXPECT_EQ(python_line(table, 5, 4), 103U);
}

TEST(PythonLines, KnowsInstructionsWithoutALine) {
  const std::string table = {first(15, 3), first(11, 1), 0, 0};

  EXPECT_EQ(python_line(table, 5, 0), 0U);
  EXPECT_EQ(python_line(table, 5, 6), 6U);
}

TEST(PythonLines, GivesNoLineThatCannotBe) {
  EXPECT_EQ(python_line({}, 5, 0), 0U);
  EXPECT_EQ(python_line("\x01\x02\x03", 5, 0), 0U);                 // no entry begins
  EXPECT_EQ(python_line(std::string{first(13, 1), 13}, 5, 0), 0U);  // to line -1
  EXPECT_EQ(python_line(std::string{first(13, 1)}, 5, 0), 5U);      // cut off: no number
  EXPECT_EQ(python_line("\xe8\x7e\x7f\x7f\x7f\x7f\x7f\x7f\x7f"s, 5, 0), 0U);
}

TEST(PythonLines, EndsOnEveryTable) {
  std::mt19937 next(20261121);
  std::string table;
  for (int turn = 0; turn < 20000; ++turn) {
    table.resize(next() % 40);
    for (char& byte : table) byte = static_cast<char>(next());
    EXPECT_LE(python_line(table, next(), next() % 100), 0x7fffffffU);
  }
}

}  // namespace
}  // namespace vramscope
