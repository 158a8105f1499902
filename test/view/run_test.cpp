// run and snapshot: arguments, summary, and what /proc tells of a process.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/run.h"

#include <gtest/gtest.h>

#include <csignal>

#include "interpose/settings/options.h"
#include "reporter/view/command/orphaned_live_files.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/system/target.h"
#include "test/view/sample_report.h"

namespace vramscope {
namespace {

using Words = std::vector<std::string>;

struct Taken {
  Words options, program;
};

Taken take(Words words) {
  CommandLine line({});
  const Verb verb = add_run(line);
  Words program = take_program(*verb.command, words);
  return {words, program};
}

TEST(Run, OptionsEndAtTheProgram) {
  const Taken taken = take({"--sim", "--mode", "off", "-q", "train", "--mode", "x", "--", "-q"});

  EXPECT_EQ(taken.options, (Words{"--sim", "--mode", "off", "-q"}));
  EXPECT_EQ(taken.program, (Words{"train", "--mode", "x", "--", "-q"}));
}

TEST(Run, OptionsEndAtTheMark) {
  const Taken taken = take({"-o", "x.json", "--", "-odd", "[a,b]"});

  EXPECT_EQ(taken.options, (Words{"-o", "x.json"}));
  EXPECT_EQ(taken.program, (Words{"-odd", "[a,b]"}));
}

TEST(Run, ValuesMayBeAttached) {
  EXPECT_EQ(take({"--mode=off", "train"}).program, Words{"train"});
  EXPECT_EQ(take({"-ox.json", "train"}).program, Words{"train"});
  EXPECT_EQ(take({"-qo", "x.json", "train"}).program, Words{"train"});
}

TEST(Run, AProgramMayBeCalledLikeAVerb) {
  EXPECT_EQ(take({"report", "x"}).program, (Words{"report", "x"}));
}

TEST(Run, WithoutProgramNothingIsTaken) {
  EXPECT_TRUE(take({"--mode", "off"}).program.empty());
  EXPECT_TRUE(take({"--mode"}).program.empty());
  EXPECT_TRUE(take({"--"}).program.empty());
}

TEST(Run, ReportsThatWereTakenAwayOrReplacedByLaterOnesCountOnce) {
  EXPECT_EQ(existing({"/", "/nowhere/r.json", "/dev", "/"}), (Words{"/dev", "/"}));
}

TEST(Run, TheSummaryNamesTheNextCommand) {
  const Words lines = summary({"my report.json", sample_report()}, 2);

  EXPECT_EQ(
      lines,
      (Words{
          "GPU 0: 1,000 allocations, peak 760 MiB requested (768 MiB allocated, 1.00 GiB reserved)",
          "report in my report.json and 2 more", "next: vramscope report 'my report.json'"}));
}

TEST(Run, OfSeveralProcessesItIsSaidWhoseTheNumbersAre) {
  WrittenReport written{"r.json", sample_report()};
  written.next = ".";
  written.are_several = true;

  EXPECT_EQ(summary(written, 2),
            (Words{"train (4711): GPU 0: 1,000 allocations, peak 760 MiB requested (768 MiB "
                   "allocated, 1.00 GiB reserved)",
                   "report in r.json and 2 more", "next: vramscope report ."}));
}

TEST(Run, OfSeveralProcessesItIsSaidHowManyThereWereAndWhichHadTheHighestPeak) {
  WrittenReport written{"r.json", sample_report()};
  written.are_several = true;
  written.processes = 8;
  EXPECT_TRUE(summary(written, 7)[0].starts_with("8 processes; train (4711): GPU 0: "));

  written.highest_bytes = std::uint64_t{172} << 20;
  written.highest_by = "r3 (24291)";
  EXPECT_EQ(summary(written, 7)[0], "8 processes; highest peak 172 MiB requested by r3 (24291)");
  written.report.oom = sample_refusals();
  EXPECT_TRUE(summary(written, 7)[0].starts_with(
      "8 processes; highest peak 172 MiB requested by r3 (24291); train (4711): 64.0 MiB"));
}

TEST(Run, ReportsOfOneProcessAreToldApart) {
  WrittenReport written{"b.2.json", sample_report()};
  written.report.trigger = "exit";
  written.of_refusal = "b.json";

  EXPECT_EQ(summary(written, 1)[1], "report in b.2.json (at exit); when memory ran out: b.json");
  EXPECT_EQ(summary(written, 3)[1],
            "report in b.2.json (at exit) and 2 more; when memory ran out: b.json");
  written.report.trigger = "recovered";
  EXPECT_EQ(summary(written, 1)[1], "report in b.2.json; when memory ran out: b.json");
}

TEST(Run, TheSummarySaysThatMemoryRanOut) {
  Report report = sample_report();
  report.devices[0].statistics.num_ooms = 2;

  EXPECT_EQ(summary({"r.json", report}, 0)[0],
            "GPU 0: 1,000 allocations, peak 760 MiB requested (768 MiB allocated, 1.00 GiB "
            "reserved), out of memory 2 times");

  report.oom.count = 3;  // managed memory or the like
  EXPECT_TRUE(summary({"r.json", report}, 0)[0].ends_with(
      ", out of memory 2 times, 1 more refusal of other memory"));
  report.devices[0].statistics.num_ooms = 0;
  EXPECT_TRUE(summary({"r.json", report}, 0)[0].ends_with(" reserved), out of memory 3 times"));
}

// "reserved 11.5 GiB" was taken for what the program needs.
TEST(Run, TheSummarySaysHowMuchOfWhatWasReservedWasIdle) {
  Report report = sample_report();
  report.process.options = {{"policy", "native-safe"}};

  EXPECT_EQ(summary({"r.json", report}, 0)[0],
            "GPU 0: 1,000 allocations, peak 760 MiB requested (768 MiB allocated, 1.00 GiB "
            "reserved, at least 254 MiB of it idle and released when needed)");
}

TEST(Run, TheSummaryNamesTheOptionWithWhichAllCouldHaveBeenExported) {
  Report report = sample_report();
  const std::string first = std::string("cuIpcGetMemHandle: ") + kCannotExport;
  report.warnings = {"another", first + "--policy native-safe"};
  EXPECT_TRUE(summary({"r.json", report}, 0)[0].ends_with("); " + first + "--policy native-safe"));

  report.warnings.push_back(first + "--mode dedicated");
  EXPECT_TRUE(summary({"r.json", report}, 0)[0].ends_with("); " + first + "--mode dedicated"));
}

TEST(Run, TheSummaryNamesWhatWasRefused) {
  Report report = sample_report();
  report.oom = sample_refusals();

  const Words lines = summary({"r.json", report}, 0);

  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(
      lines[0].starts_with("GPU 0: 1,000 allocations, peak 760 MiB requested (768 MiB allocated, "
                           "1.00 GiB reserved), out "
                           "of memory 2 times; 64.0 MiB of pinned refused to "));
  EXPECT_EQ(lines[2], "next: vramscope oom r.json");
}

// The native frames of such a stack are a framework's own, mostly without names.
TEST(Run, TheSummaryNamesTheLineOfPythonThatWasRefused) {
  Report report = sample_report();
  report.oom = sample_refusals();
  report.sources = {{"/home/me/steps.py", 0, 0}};
  report.codes = {{"load", 0, 10}};
  report.frames[5] = {0, 0x60, 0, 12};
  report.sites[2].frames = {1, 3, 5};

  EXPECT_TRUE(summary({"r.json", report}, 0)[0].find("refused to load (steps.py:12)") !=
              std::string::npos)
      << summary({"r.json", report}, 0)[0];
}

TEST(Run, TheSummaryCountsMemoryOfEachKind) {
  Report report = sample_report();
  report.kinds.push_back({.kind = Kind::physical,
                          .device = 0,
                          .peak_bytes = std::uint64_t{1} << 30,
                          .allocations = 1});
  EXPECT_EQ(summary({"r.json", report}, 0)[0],
            "GPU 0: 1,000 allocations, peak 760 MiB requested (768 MiB allocated, 1.00 GiB "
            "reserved), 1 physical allocation, peak 1.00 GiB requested, all kinds together: peak "
            "1.00 GiB to 1.74 GiB requested");

  report.devices[0].used = false;
  report.kinds.erase(report.kinds.begin(), report.kinds.end() - 1);
  EXPECT_EQ(summary({"r.json", report}, 0)[0],
            "GPU 0: 1 physical allocation, peak 1.00 GiB requested");

  report.kinds.clear();
  EXPECT_EQ(summary({"r.json", report}, 0)[0], "no device memory was allocated");
}

TEST(Run, TheSummaryTellsOfALimitOnADeviceThatIsNotThere) {
  Report report = sample_report();
  report.warnings = {"GPU 0 met its limit",
                     "--device-memory-limit has no effect on GPU 3: the end"};

  const std::string line = summary({"r.json", report}, 0)[0];

  EXPECT_TRUE(line.ends_with("; --device-memory-limit has no effect on GPU 3: the end")) << line;
  EXPECT_EQ(line.find("met its limit"), line.npos);
}

TEST(Run, TheSummaryNamesTheTrace) {
  Report report = sample_report();
  report.trace.path = "my.trace";
  report.trace.events = 1000;
  report.trace.lost = 2;

  const Words lines = summary({"my.json", report}, 0);

  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], "report in my.json, 1,000 events in my.trace (2 events lost)");
}

TEST(Run, TheSummarySaysWhatEndedTheProgramAndWhoElseEndedWithoutAReport) {
  const Ending killed{.pid = 1, .signal = SIGKILL};
  OrphanedLiveFiles left{.reports = {"a.json", "b.json", "r.json"},
                         .has_program = true,
                         .others = {"python3 (2)", "python3 (3)"},
                         .problems = {},
                         .written = {}};
  WrittenReport written{"r.json", sample_report()};
  written.place = place_text(left, killed);
  written.others = others_text(left);

  EXPECT_EQ(summary(written, 2)[1],
            "ended by SIGKILL; report recovered in r.json and 2 more; recovered of 2 descendants "
            "that ended without one: python3 (2), python3 (3)");

  left.others.assign(8, "python3 (4)");
  EXPECT_TRUE(others_text(left).ends_with("python3 (4), python3 (4), python3 (4), ..."));
  left.problems = {"cannot recover 'x.live': is a link"};
  EXPECT_TRUE(others_text(left).ends_with(", ...; cannot recover 'x.live': is a link"));
  EXPECT_EQ(place_text(left, {}), "ended without a report; report recovered in ");
  EXPECT_EQ(place_text({}, killed), "ended by SIGKILL; report in ");
  EXPECT_EQ(place_text({}, {}), "report in ");
  EXPECT_EQ(others_text({}), "");
}

TEST(Run, PathsBelowTheFolderAreShort) {
  EXPECT_EQ(seen_from("/a/b", "/a/b/c.json"), "c.json");
  EXPECT_EQ(seen_from("/a/b", "/a/bc.json"), "/a/bc.json");
}

// As in /proc/PID/environ: each with its zero.
TargetFiles files(const Words& variables) {
  std::string environment;
  for (const std::string& variable : variables) (environment += variable) += '\0';
  return {.maps = "7f00-7f01 r-xp 0 0:0 0 /opt/vramscope/libvramscope.so\n",
          .status = "Name:\ttrain\nSigCgt:\t0000000000000200\n",
          .environment = environment,
          .folder = "/data"};
}

TEST(Snapshot, AProcessWithLibraryAndHandlerCanBeAsked) {
  const Target target = inspect(5, 0, files({"A=1", "B=2"}));

  EXPECT_EQ(target.error, "");
  EXPECT_EQ(target.signal, SIGUSR1);
  EXPECT_EQ(target.folder, "/data");
  EXPECT_EQ(target.note_file, "");
}

TEST(Snapshot, TheEnvironmentTellsSignalAndPlaces) {
  TargetFiles told = files(
      {"VRAMSCOPE_SIGNAL=USR2", "VRAMSCOPE_OUTPUT=out/%p.json", "VRAMSCOPE_NOTE_FILE=/tmp/n"});
  told.status = "Name:\ttrain\nSigCgt:\t0000000000000800\n";

  const Target target = inspect(5, 0, told);

  EXPECT_EQ(target.error, "");
  EXPECT_EQ(target.signal, SIGUSR2);
  EXPECT_EQ(target.folder, "/data/out/");
  EXPECT_EQ(target.note_file, "/tmp/n");
}

TEST(Snapshot, AHandlerOfTheProgramsOwnIsTold) {
  TargetFiles with_handler = files({});
  with_handler.helper.is_beside_handler = true;

  EXPECT_EQ(inspect(5, 0, files({})).hint, "");
  EXPECT_EQ(inspect(5, 0, with_handler).hint.find("process 5 has a handler of its own for SIGUSR1"),
            0U);
  EXPECT_EQ(inspect(5, SIGUSR2, with_handler).hint, "");
}

// Of a signal that the program was told besides, the library's thread knows nothing.
TEST(Snapshot, AQuotaThatIsUsedUpIsTold) {
  TargetFiles waiting = files({});
  waiting.helper.quota = HelperState::Quota::held_back;
  TargetFiles used_up = files({});
  used_up.helper.quota = HelperState::Quota::used_up;

  EXPECT_FALSE(inspect(5, 0, files({})).is_held_back);
  EXPECT_TRUE(inspect(5, 0, waiting).is_held_back);
  EXPECT_EQ(inspect(5, 0, waiting).error, "");
  EXPECT_EQ(inspect(5, 0, used_up).error,
            "process 5 has written 1,000 reports on signals, and writes no more of them; it writes "
            "one when it ends");
  used_up.status = "Name:\ttrain\nSigCgt:\tffffffffffffffff\n";
  EXPECT_EQ(inspect(5, SIGUSR2, used_up).error, "");
}

TEST(Snapshot, AFolderThatThePatternVariesIsNotWatched) {
  EXPECT_EQ(inspect(5, 0, files({"VRAMSCOPE_OUTPUT=/logs/%h/%p.json"})).folder, "");
  EXPECT_EQ(inspect(5, 0, files({"VRAMSCOPE_OUTPUT=/logs/%p.json"})).folder, "/logs/");
}

TEST(Snapshot, OtherProcessesAreLeftAlone) {
  TargetFiles without_library = files({});
  without_library.maps = "7f00-7f01 r-xp 0 0:0 0 /usr/lib/libc.so.6\n";
  TargetFiles without_handler = files({});
  without_handler.status = "Name:\ttrain\nSigCgt:\t0000000000000000\n";

  EXPECT_EQ(inspect(5, 0, without_library).error,
            "process 5 runs without vramscope; start it with vramscope run");
  EXPECT_EQ(inspect(5, 0, without_handler).error,
            "process 5 does not catch SIGUSR1: it has not used CUDA yet, or has another "
            "VRAMSCOPE_SIGNAL");
  EXPECT_EQ(inspect(5, SIGUSR2, files({})).error.substr(0, 32), "process 5 does not catch SIGUSR2");
  EXPECT_NE(inspect(5, 0, files({"VRAMSCOPE_SIGNAL=none"})).error, "");
}

}  // namespace
}  // namespace vramscope
