// Suppression files: what they may say, and in which stacks their patterns are found.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/suppressions.h"

#include <gtest/gtest.h>

#include "test/view/sample_report.h"

namespace vramscope {
namespace {

TEST(Suppressions, PatternsAreFoundAnywhereUnlessTheyAreAnchored) {
  const struct {
    const char* pattern;
    const char* text;
    bool found;
  } rows[] = {
      {"cublas", "libcublas.so", true},
      {"cublas", "libcufft.so", false},
      {"^main", "main", true},
      {"^main", "domain", false},
      {"main$", "domain", true},
      {"main$", "main()", false},
      {"^main$", "main", true},
      {"^main$", "mainmain", false},
      {"main$", "mainmain", true},
      {"a*b", "xaxxbx", true},
      {"a*b", "ba", false},
      {"^a*b$", "axxb", true},
      {"^a*b$", "axxbx", false},
      {"^a*a$", "a", false},
      {"a*ab$", "aab", true},
      {"*", "x", true},
      {"*", "", false},
      {"^", "x", true},
      {"$", "x", true},
      {"^$", "x", false},
      {"a$b", "xa$bx", true},
      {"a^b", "a^b", true},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(pattern_matches(row.pattern, row.text), row.found) << row.pattern << " " << row.text;
  }
}

TEST(Suppressions, ManyAsterisksTakeNoMoreThanBothLengths) {
  std::string pattern = "^";
  for (int i = 0; i < 1000; ++i) pattern += "a*";
  const std::string text(10'000, 'a');

  EXPECT_FALSE(pattern_matches(pattern + "b$", text));
}

TEST(Suppressions, FilesHaveCommentsAndEmptyLines) {
  Suppressions list;

  EXPECT_EQ(list.add("# cuBLAS\n\n  leak:cublas*Create  \r\nleak: ^main$", "my.supp"), "");

  ASSERT_EQ(list.rows().size(), 2U);
  EXPECT_EQ(list.rows()[0].pattern, "cublas*Create");
  EXPECT_EQ(list.rows()[0].line, 3U);
  EXPECT_EQ(list.rows()[1].pattern, "^main$");
}

TEST(Suppressions, ABadLineIsNamedAndNothingIsAdded) {
  Suppressions list;

  EXPECT_EQ(list.add("leak:a\nrace:b\n", "my.supp"),
            "my.supp:2: expected leak:PATTERN, found 'race:b'");
  EXPECT_EQ(list.add("leak: ", "my.supp"), "my.supp:1: expected leak:PATTERN, found 'leak:'");
  EXPECT_EQ(list.add("\x1b[2J\n", "my.supp"), "my.supp:1: expected leak:PATTERN, found '?[2J'");
  EXPECT_LT(list.add(std::string(100'000, 'x'), "my.supp").size(), 200U);
  EXPECT_TRUE(list.rows().empty());
}

TEST(Suppressions, AFileThatIsNotThereIsNamed) {
  Suppressions list;

  EXPECT_EQ(list.add_file("/dev/null/file"), "/dev/null/file: Not a directory");
}

TEST(Suppressions, TheUsualOnesAreRead) {
  Suppressions list;
  list.add_usual();

  EXPECT_GT(list.rows().size(), 15U);
  EXPECT_TRUE(list.have_usual());
  EXPECT_TRUE(list.rows()[0].is_usual);
  EXPECT_TRUE(list.first_in({"/usr/local/cuda/lib64/libcublas.so.12"}));
  // Caches of frameworks have no rule, see framework_caches.h.
  EXPECT_FALSE(list.first_in({"tensorflow::BFCAllocator::Extend(unsigned long, unsigned long)"}));
  EXPECT_TRUE(list.first_in({"ncclCommInitRankFunc(ncclAsyncJob*)"}));
  EXPECT_FALSE(list.first_in({"/usr/local/cuda/lib64/libnppial.so.12"}));  // the program's own
  EXPECT_FALSE(list.first_in({"/opt/app/bin/train", "main", "/src/train.cpp", "cudaMalloc",
                              "/usr/lib/libcudart.so.13", "/usr/lib/libcuda.so.1"}));
}

TEST(SuppressedStacks, AnyFrameCountsByFunctionFileAndModule) {
  const Report report = sample_report();
  for (const char* pattern : {"^make_weights", "train.cpp$", "/app/train"}) {
    Suppressions list;
    EXPECT_EQ(list.add(std::string("leak:nothing\nleak:") + pattern, "my.supp"), "");

    SuppressedStacks suppressed(report, list, sample_names());

    EXPECT_EQ(suppressed.of(report.sites[0].frames), 1U) << pattern;
  }
}

TEST(SuppressedStacks, TheInnermostFrameDecidesWhichOne) {
  const Report report = sample_report();
  Suppressions list;
  EXPECT_EQ(list.add("leak:^main$\nleak:libnet.so", "my.supp"), "");

  SuppressedStacks suppressed(report, list, sample_names());

  EXPECT_EQ(suppressed.of(report.sites[0].frames), 0U);
  EXPECT_EQ(suppressed.of(report.sites[1].frames), 1U);
}

TEST(SuppressedStacks, UsualOnesOfLibrariesHoldForTheirOwnMemoryAlone) {
  Report report = sample_report();
  report.modules[2].path = "/usr/lib/libcublas.so.13";
  report.sites[0].frames = {0, 1, 3, 2};  // the program, called back by the library
  Suppressions list;
  list.add_usual();

  SuppressedStacks suppressed(report, list, sample_names());

  EXPECT_FALSE(suppressed.of(report.sites[0].frames));
  EXPECT_TRUE(suppressed.of(report.sites[1].frames));

  Suppressions own;  // whoever writes a rule means every frame
  EXPECT_EQ(own.add("leak:/libcublas.so", "my.supp"), "");
  EXPECT_TRUE(SuppressedStacks(report, own, sample_names()).of(report.sites[0].frames));
}

TEST(SuppressedStacks, NoSuppressionHoldsForNoSite) {
  const Report report = sample_report();
  const Suppressions list;

  EXPECT_FALSE(SuppressedStacks(report, list, sample_names()).of(report.sites[0].frames));
}

}  // namespace
}  // namespace vramscope
