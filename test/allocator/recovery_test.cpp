// What a process had is recovered from its live file: at rest all of it, at any other instant all
// but the call under way.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/recovery.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ostream>
#include <string>

#include "test/allocator/recovered_program.h"

namespace vramscope::test {

void PrintTo(const RecoveryMode& mode, std::ostream* out) { *out << mode.name; }

namespace {

struct Recovery : testing::TestWithParam<RecoveryMode> {
  DyingProcess process{GetParam().limits};
};

TEST_P(Recovery, IsTheSnapshotOfAProcessAtRest) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const pid_t child = process.start(seed, [&](RecordedProgram& program) {
      for (std::uint64_t i = 0; i < 20 * seed; ++i) program.step();
      program.write_snapshot();
    });
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);

    LiveImage image(process.file());
    const LiveHeader* const header = image.refresh();
    ASSERT_NE(header, nullptr);
    ASSERT_EQ(text_of(recover_memory(*header)), std::string(process.log().text.data()))
        << "seed " << seed;
    ASSERT_EQ(process.judge(image), "") << "seed " << seed;
  }
}

TEST_P(Recovery, MissesAtMostTheCallUnderWayAfterAKill) {
  constexpr std::uint64_t kMostNs = 3'000'000;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    ASSERT_EQ(process.kill_after(seed, seed * 0x9E3779B97F4A7C15 % kMostNs), "") << "seed " << seed;
  }
}

TEST_P(Recovery, MissesAtMostTheCallUnderWayAfterAnyInstruction) {
  ASSERT_EQ(process.step(99, 6, 37), "");
  if (process.instructions() == 0) GTEST_SKIP() << "SKIPPED: there is no ptrace here";
}

TEST_P(Recovery, SaysThatAFileIsNotWhole) {
  const pid_t child = process.start(1, [](RecordedProgram& program) {
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) _exit(1);
    for (int i = 0; i < 100; ++i) program.step();
  });
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  LiveImage image(process.file());

  EXPECT_EQ(process.judge(image), "it is incomplete: File too large");
}

INSTANTIATE_TEST_SUITE_P(Modes, Recovery, testing::ValuesIn(kRecoveryModes),
                         [](const auto& mode) { return std::string(mode.param.name); });

}  // namespace
}  // namespace vramscope::test
