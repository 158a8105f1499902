// Report names from patterns.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/files/file_name.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace vramscope {
namespace {

char* variables(const char* name) {
  static char job[] = "12/34";
  return std::string_view(name) == "JOB" ? job : nullptr;
}

NameFacts facts() {
  return {.pid = 4711,
          .hostname = "node7",
          .executable = "/opt/bin/train",
          .rank = 3,
          .local_rank = 1,
          .world_size = 8,
          .restart = 2,
          .job = "4711.0",
          .sequence = 1,
          .start_time_ns = 1700000000ULL * 1'000'000'000};
}

std::string expand(std::string_view pattern, const NameFacts& of = facts()) {
  return expand_pattern(pattern, of, variables);
}

TEST(FileName, FillsInEveryEscape) {
  EXPECT_EQ(expand("vramscope.%e.%p.json"), "vramscope.train.4711.json");
  EXPECT_EQ(expand("%h-%r-%n-%t"), "node7-3-1-20231114T221320");
  EXPECT_EQ(expand("%j/%w-%r-%l-%a"), "4711.0/8-3-1-2");
  EXPECT_EQ(expand("%R.%p"), "rank3.restart2.4711");
  EXPECT_EQ(expand("100%%"), "100%");
  EXPECT_EQ(expand("%{JOB}-%{UNSET}-x"), "12_34--x");
}

TEST(FileName, KeepsWhatItDoesNotKnow) {
  EXPECT_EQ(expand("%z%"), "%z%");
  EXPECT_EQ(expand("a%{JOB"), "a%{JOB");
  EXPECT_EQ(expand(""), "");
}

TEST(FileName, TellsTheFirstEscapeThatItDoesNotKnow) {
  EXPECT_EQ(unknown_escape("r%Z%Q.json"), "%Z");
  EXPECT_EQ(unknown_escape("100%"), "%");
  EXPECT_EQ(unknown_escape("%%Z%{JOB"), "%{JOB");
  EXPECT_EQ(unknown_escape("%e%p%h%r%R%l%w%j%a%n%t%%%{JOB}Z"), "");
}

TEST(FileName, NumbersInterimReportsBeforeTheExtension) {
  NameFacts second = facts();
  second.sequence = 2;
  second.is_interim = true;
  NameFacts last = facts();
  last.sequence = 3;

  EXPECT_EQ(expand("dir.d/%e.%p.json", second), "dir.d/train.4711.2.json");
  EXPECT_EQ(expand("report", second), "report.2");
  EXPECT_EQ(expand("report.%n.json", second), "report.2.json");
  EXPECT_EQ(expand("dir.d/%e.%p.json", last), "dir.d/train.4711.json");
  EXPECT_EQ(expand("report.%n.json", last), "report.3.json");
}

TEST(FileName, AddsNoFolderAndNoControlCharacter) {
  NameFacts odd = facts();
  odd.hostname = "../a\nb";
  odd.executable = "/opt/" + std::string(300, 'x');

  EXPECT_EQ(expand("%h", odd), ".._a_b");
  EXPECT_EQ(expand("%e", odd), std::string(100, 'x'));
}

char* dots(const char* name) {
  static char one[] = ".";
  static char two[] = "..";
  static char none[] = "";
  return *name == '1' ? one : *name == '2' ? two : none;
}

TEST(FileName, WhatIsFilledInStaysInTheFolder) {
  const auto expand = [](std::string_view pattern) {
    return expand_pattern(pattern, facts(), dots);
  };
  EXPECT_EQ(expand("%{2}/x.json"), "__/x.json");
  EXPECT_EQ(expand("a/%{1}%{1}/%{1}/x"), "a/__/_/x");
  EXPECT_EQ(expand("%{0}/x.json"), "_/x.json");
  EXPECT_EQ(expand("logs/%{2}"), "logs/__");
  EXPECT_EQ(expand("../.%{1}.x/%{2}x"), "../...x/..x");
  EXPECT_EQ(expand("/./%p"), "/./4711");
}

TEST(FileName, CountsAProcessWithoutRankAsTheFirst) {
  NameFacts single = facts();
  single.rank = -1;

  EXPECT_EQ(expand("r%r", single), "r0");
}

TEST(FileName, NamesTheScriptThatPythonRuns) {
  using Words = std::vector<std::string>;
  const auto script = [](Words words, std::string_view program = "/usr/bin/python3.13t") {
    words.insert(words.begin(), "python3");
    return python_script(program, words);
  };
  EXPECT_EQ(script({"src/train.py", "-m", "x"}), "train.py");
  EXPECT_EQ(script({"-u", "-W", "ignore", "-Xdev", "train.py"}), "train.py");
  EXPECT_EQ(script({"-OO", "--check-hash-based-pycs", "never", "train.py"}), "train.py");
  EXPECT_EQ(script({"-m", "torch.distributed.run", "train.py"}), "torch.distributed.run");
  EXPECT_EQ(script({"-umjob"}), "job");
  EXPECT_EQ(script({"/usr/local/bin/torchrun", "train.py"}), "torchrun");
  for (const Words& none :
       {Words{}, {"-c", "import x", "train.py"}, {"-"}, {"."}, {"-m"}, {"-W"}}) {
    EXPECT_EQ(script(none), "");
  }
  EXPECT_EQ(script({"train.py"}, "/opt/python-service"), "");
  EXPECT_EQ(script({"train.py"}, "/opt/train"), "");

  NameFacts python = facts();
  python.executable = "/usr/bin/python3.11";
  python.arguments = {"python3", "src/train.py"};
  EXPECT_EQ(expand("vramscope.%e.%p.json", python), "vramscope.train.py.4711.json");
}

}  // namespace
}  // namespace vramscope
