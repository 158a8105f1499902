// Programs that are watched: how many, and what becomes of those that end.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/watched_programs.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace vramscope {
namespace {

// Processes that wait until they are killed.
class Waiting {
 public:
  explicit Waiting(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        while (true) pause();
      }
      all_.push_back(child);
    }
  }
  ~Waiting() {
    while (!all_.empty()) end_one();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void end_one() {
    kill(all_.front(), SIGKILL);
    waitpid(all_.front(), nullptr, 0);
    all_.erase(all_.begin());
  }
  [[nodiscard]] std::vector<RunningProcess> found() const {
    std::vector<RunningProcess> running;
    for (const pid_t one : all_) running.push_back({one, ""});
    return running;
  }

 private:
  std::vector<pid_t> all_;
};

// While it lives, this process can open nothing.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &usual_);
    const rlimit none{.rlim_cur = 0, .rlim_max = usual_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &usual_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit usual_{};
};

std::size_t killed(const WatchedPrograms& watched) {
  return watched.ends()[static_cast<std::size_t>(ProcessEnd::killed)];
}

TEST(WatchedPrograms, AreNotMoreThanTheMost) {
  Waiting waiting(WatchedPrograms::kMost + 3);
  WatchedPrograms watched([&](LookFor) { return waiting.found(); }, [](Report&) {}, {});

  watched.look(LookFor::everywhere);

  EXPECT_EQ(watched.programs().size(), WatchedPrograms::kMost);
  EXPECT_EQ(watched.left_out(), 3U);
}

TEST(WatchedPrograms, OneThatEndsIsCountedOnceAndMakesRoom) {
  Waiting waiting(WatchedPrograms::kMost + 1);
  WatchedPrograms watched([&](LookFor) { return waiting.found(); }, [](Report&) {}, {});
  watched.look(LookFor::everywhere);

  waiting.end_one();
  for (int i = 0; i < 3; ++i) watched.look(LookFor::everywhere);

  EXPECT_EQ(killed(watched), 1U);
  EXPECT_EQ(watched.programs().size(), WatchedPrograms::kMost);
  EXPECT_EQ(watched.left_out(), 0U);
}

TEST(WatchedPrograms, OneThatCannotBeLookedAtHasNotEnded) {
  Waiting waiting(2);
  WatchedPrograms watched([&](LookFor) { return waiting.found(); }, [](Report&) {}, {});
  watched.look(LookFor::everywhere);
  waiting.end_one();

  {
    const NoDescriptors none;
    watched.look(LookFor::everywhere);
  }

  EXPECT_EQ(killed(watched), 1U);  // the system names no such process
  EXPECT_EQ(watched.programs().size(), 1U);
}

TEST(WatchedPrograms, OneThatEndedIsKept) {
  Waiting waiting(2);
  WatchedPrograms watched([&](LookFor) { return waiting.found(); }, [](Report&) {},
                          std::chrono::hours(1));
  watched.look(LookFor::everywhere);

  waiting.end_one();
  watched.look(LookFor::everywhere);

  const std::vector<const WatchedProgram*> programs = watched.programs();
  ASSERT_EQ(programs.size(), 2U);
  EXPECT_EQ(std::ranges::count_if(programs, [](const auto* one) { return one->end.has_value(); }),
            1);
  EXPECT_EQ(killed(watched), 1U);
}

TEST(WatchedPrograms, OneThatEndedIsForgottenForOneThatRuns) {
  Waiting waiting(WatchedPrograms::kMost + 1);
  WatchedPrograms watched([&](LookFor) { return waiting.found(); }, [](Report&) {},
                          std::chrono::hours(1));
  watched.look(LookFor::everywhere);

  waiting.end_one();
  watched.look(LookFor::everywhere);

  EXPECT_EQ(watched.programs().size(), WatchedPrograms::kMost);
  EXPECT_EQ(watched.left_out(), 0U);
  EXPECT_EQ(killed(watched), 1U);
}

TEST(WatchedPrograms, WithoutALiveFileOneHasAReasonAndNoReport) {
  const Waiting waiting(1);
  WatchedPrograms watched([&](LookFor) { return waiting.found(); }, [](Report&) {}, {});

  watched.read();

  ASSERT_EQ(watched.programs().size(), 1U);
  EXPECT_FALSE(watched.programs().front()->report);
  EXPECT_EQ(watched.programs().front()->problem, "it has no live file");
}

}  // namespace
}  // namespace vramscope
