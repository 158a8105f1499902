// Replays over hand-made steps: what the driver gives, what is refused, and what fits.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "reporter/view/analysis/batch_scale.h"
#include "reporter/view/command/progress.h"
#include "reporter/view/trial/fit_answer.h"
#include "reporter/view/trial/phase_answer.h"
#include "reporter/view/trial/replay_answer.h"
#include "test/view/made_trial.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kContext = 512 * kMiB;
constexpr Place kSecond{.device = 1};

TrialSettings settings_of(const TrialSteps& trace, const TypedRow& typed = {}) {
  return make_row(trace, typed).row.value().settings;
}

TrialResult played(const TrialSteps& trace, const TrialSettings& settings) {
  TrialProgress progress;
  return play(trace, settings, progress);
}

TEST(Trial, ReservesWhatThePolicyDoes) {
  const TrialSteps trace = MadeTrial(4096 * kMiB).allocate(0, 3 * kMiB).free(0).steps();

  const TrialResult safe = played(trace, settings_of(trace));
  const TrialResult pytorch = played(trace, settings_of(trace, {.policy = "pytorch"}));
  const TrialResult direct = played(trace, settings_of(trace, {.mode = "observe"}));

  EXPECT_EQ(safe.devices[0].peak_reserved_bytes, 4 * kMiB);
  EXPECT_EQ(pytorch.devices[0].peak_reserved_bytes, 20 * kMiB);
  EXPECT_EQ(direct.devices[0].peak_reserved_bytes, 3 * kMiB);
  EXPECT_EQ(direct.devices[0].peak_used_bytes, kContext + 4 * kMiB);
  EXPECT_EQ(safe.devices[0].peak_requested_bytes, 3 * kMiB);
  EXPECT_EQ(safe.driver_calls, 1U);
  EXPECT_EQ(direct.driver_calls, 2U);
}

TEST(Trial, ARequestThatTheCapacityCannotServeEndsIt) {
  const TrialSteps trace =
      MadeTrial(4096 * kMiB).allocate(0, 100 * kMiB).allocate(1, 200 * kMiB).steps();
  TrialSettings settings = settings_of(trace);
  settings.capacity.fill(kContext + 298 * kMiB);

  const TrialResult result = played(trace, settings);
  settings.capacity.fill(kContext + 300 * kMiB);
  const TrialResult enough = played(trace, settings);

  ASSERT_TRUE(result.refusal);
  EXPECT_EQ(result.refusal->bytes, 200 * kMiB);
  EXPECT_EQ(result.refusal->step, 2U);
  EXPECT_FALSE(enough.refusal);
}

TEST(Trial, IdleMemoryGoesBackBeforeARequestIsRefused) {
  const TrialSteps trace =
      MadeTrial(4096 * kMiB).allocate(0, 300 * kMiB).free(0).allocate(1, 310 * kMiB).steps();
  TrialSettings settings = settings_of(trace, {.policy = "pytorch"});
  settings.capacity.fill(kContext + 310 * kMiB);

  const TrialResult result = played(trace, settings);

  EXPECT_FALSE(result.refusal);
  EXPECT_EQ(result.devices[0].statistics.num_alloc_retries, 1);
}

TEST(Trial, WhatOthersUseIsNotThere) {
  const TrialSteps trace = MadeTrial(4096 * kMiB).use(4000 * kMiB).allocate(0, 200 * kMiB).steps();

  const TrialResult result = played(trace, settings_of(trace));

  ASSERT_TRUE(result.refusal);
  EXPECT_FALSE(result.refusal->is_use);
}

TEST(Trial, AContextWithoutRoomIsARefusal) {
  const TrialSteps trace = MadeTrial(4096 * kMiB).allocate(0, kMiB).steps();
  TrialSettings settings = settings_of(trace);
  settings.capacity.fill(kContext - 2 * kMiB);

  const TrialResult result = played(trace, settings);

  ASSERT_TRUE(result.refusal);
  EXPECT_TRUE(result.refusal->is_use);
}

TEST(Trial, WhatTheRecordingRefusedMayBeServed) {
  const TrialSteps trace = MadeTrial(4096 * kMiB).refuse(5000 * kMiB).allocate(0, kMiB).steps();
  TrialSettings settings = settings_of(trace);

  const TrialResult same = played(trace, settings);
  settings.capacity.fill(8192 * kMiB);
  const TrialResult larger = played(trace, settings);

  EXPECT_EQ(same.refusals, 1U);
  EXPECT_EQ(same.devices[0].statistics.num_ooms, 1);
  EXPECT_EQ(larger.served_refused, 1U);
  EXPECT_FALSE(larger.refusal);
}

TEST(Trial, AFailureThatIsNoLackOfMemoryIsNoRefusal) {
  TrialSteps trace = MadeTrial(4096 * kMiB).refuse(kMiB).allocate(0, kMiB).steps();

  learn(trace, settings_of(trace));
  const TrialResult result = played(trace, settings_of(trace));

  EXPECT_EQ(result.served_refused, 0U);
  EXPECT_EQ(result.refusals, 0U);
  EXPECT_EQ(result.devices[0].statistics.allocation.all.allocated, 1);
}

TEST(Trial, TheEndOfAPlaceFreesItsMemory) {
  MadeTrial made(4096 * kMiB);
  for (std::uint32_t context = 1; context <= 20; ++context) {
    const Place where{.context = context};
    made.allocate(0, 3000 * kMiB, where).end(where);
  }
  const TrialSteps trace = made.steps();

  for (const char* const mode : {"cache", "dedicated", "observe"}) {
    const TrialResult result = played(trace, settings_of(trace, {.mode = mode}));

    EXPECT_FALSE(result.refusal) << mode;
    EXPECT_EQ(result.devices[0].peak_requested_bytes, 3000 * kMiB) << mode;
  }
}

TEST(Trial, EachDeviceHasItsOwnFigures) {
  const TrialSteps trace = MadeTrial(4096 * kMiB)
                               .allocate(0, 100 * kMiB)
                               .allocate(1, 30 * kMiB, kSecond)
                               .allocate(2, 8 * kMiB, {.kind = Kind::pinned})
                               .steps();

  const TrialResult result = played(trace, settings_of(trace));

  ASSERT_EQ(result.devices.size(), 2U);
  EXPECT_EQ(result.devices[0].peak_reserved_bytes, 100 * kMiB);
  EXPECT_EQ(result.devices[1].peak_reserved_bytes, 30 * kMiB);
  EXPECT_EQ(result.host.value().allocated_bytes.current, 8 * static_cast<std::int64_t>(kMiB));
}

TEST(Trial, RowsAreTheSameHoweverManyCoresPlayThem) {
  const TrialSteps trace = golden_trial();
  std::vector<TrialSettings> settings;
  for (const TrialRow& row : usual_rows(trace)) settings.push_back(row.settings);

  const std::vector<TrialResult> together = play_all(trace, settings, {});

  for (std::size_t i = 0; i < settings.size(); ++i) {
    const TrialResult alone = played(trace, settings[i]);
    EXPECT_EQ(alone.devices[0].peak_reserved_bytes, together[i].devices[0].peak_reserved_bytes);
    EXPECT_EQ(alone.driver_calls, together[i].driver_calls);
  }
}

TEST(Trial, UnknownSettingsAreAProblem) {
  const TrialSteps trace = golden_trial();

  EXPECT_FALSE(make_row(trace, {.alloc_conf = "no_such_setting:1"}).problem.empty());
  EXPECT_FALSE(make_row(trace, {.policy = "lru"}).problem.empty());
  TrialSteps later = trace;
  later.recorded.policy = "of a later version";
  EXPECT_FALSE(recorded_row(later).problem.empty());
}

TEST(Fit, WithLessThanTheLeastCapacityARequestIsRefused) {
  const TrialSteps trace = golden_trial();

  const FitAnswer answer = fit_trace(trace, usual_rows(trace), {});

  for (const FitRow& row : answer.rows) {
    ASSERT_TRUE(row.least_bytes);
    TrialSettings settings = row.row.settings;
    settings.capacity.fill(*row.least_bytes);
    EXPECT_FALSE(played(trace, settings).refusal);
    settings.capacity.fill(*row.least_bytes - kFitStep);
    EXPECT_TRUE(played(trace, settings).refusal);
  }
}

TEST(Fit, WhatNoGpuServesHasNoLeastCapacity) {
  const TrialSteps trace = MadeTrial().allocate(0, std::uint64_t{17} << 40).steps();

  const FitAnswer answer = fit_trace(trace, usual_rows(trace), {});

  for (const FitRow& row : answer.rows) EXPECT_FALSE(row.least_bytes);
  for (const GpuFit& fit : answer.gpus) EXPECT_FALSE(fit.row);
}

TEST(Fit, AContextIsAssumedWhereTheTraceNamesNone) {
  TrialSteps trace = MadeTrial().allocate(0, 100 * kMiB).steps();

  EXPECT_TRUE(assume_contexts(trace));
  const FitAnswer answer = fit_trace(trace, usual_rows(trace), {});

  EXPECT_EQ(answer.rows[0].least_bytes, 624 * kMiB);  // 523.6 MiB, in steps of 2 MiB
  EXPECT_FALSE(assume_contexts(trace));
}

// Of repetitions that are all known.
PhaseCourse course_from_one(const std::vector<std::uint64_t>& peaks) {
  std::vector<std::uint64_t> lasts(peaks.size());
  std::iota(lasts.begin(), lasts.end(), 1);
  return course_of(peaks, lasts);
}

TEST(Phase, CoursesAreToldByTheirPeaks) {
  using enum PhaseTrend;

  EXPECT_EQ(course_from_one({100, 100, 100}).trend, constant);
  EXPECT_EQ(course_from_one({300, 200, 1000, 1001, 1000, 1002}).warm_up, 2U);
  EXPECT_EQ(course_from_one({300, 200, 1000, 1001, 1000, 1002}).trend, constant);
  EXPECT_EQ(course_from_one({100, 110, 120, 130, 140, 150}).trend, grows);
  EXPECT_EQ(course_from_one({100, 110, 120, 130, 140, 150}).growth_bytes, 10U);
  EXPECT_EQ(course_from_one({100, 200, 100, 200, 100, 200}).trend, varies);
  EXPECT_EQ(course_from_one({200, 100}).trend, varies);
  // Some are not known: 2 MiB with each of 10, not of 4.
  EXPECT_EQ(course_of({100, 102, 110, 120}, {1, 2, 6, 11}).growth_bytes, 2U);
  EXPECT_EQ(course_of({300, 1000, 1000, 1000}, {5, 6, 7, 8}).warm_up, 5U);
}

TEST(Phase, PartsHavePeaksOfTheirOwn) {
  const TrialSteps trace = MadeTrial(4096 * kMiB)
                               .allocate(0, 100 * kMiB)
                               .free(0)
                               .allocate(0, 50 * kMiB)
                               .allocate(1, 30 * kMiB)
                               .free(0)
                               .steps();
  TrialProgress progress;

  const auto peaks = play_parts(trace, settings_of(trace, {.mode = "observe"}), {3, 4}, progress);

  ASSERT_EQ(peaks.size(), 3U);
  EXPECT_EQ(peaks[0].requested_bytes, 100 * kMiB);
  EXPECT_EQ(peaks[1].requested_bytes, 50 * kMiB);
  EXPECT_EQ(peaks[2].reserved_bytes, 80 * kMiB);
}

TEST(Scale, TheSimplestModelIsTakenThatIsNotOff) {
  using enum ScaleGrowth;

  EXPECT_EQ(model_of({2, 4, 8}, {1000, 1004, 998}).growth, constant);
  EXPECT_EQ(model_of({2, 4, 8}, {120, 140, 180}).growth, linear);
  EXPECT_NEAR(model_of({2, 4, 8}, {120, 140, 180}).at(16), 260, 1e-6);
  EXPECT_EQ(model_of({2, 4, 8}, {14, 26, 74}).growth, quadratic);
  EXPECT_NEAR(model_of({2, 4, 8}, {14, 26, 74}).at(16), 266, 1e-6);
}

TEST(Scale, TwoRunsAreALineAndACurveThatBendsDownIsOneToo) {
  using enum ScaleGrowth;

  EXPECT_EQ(model_of({2, 4}, {4, 16}).growth, linear);
  const ScaleModel bent = model_of({2, 4, 8}, {100, 200, 250});
  EXPECT_EQ(bent.growth, linear);
  EXPECT_GT(bent.residual, 10);
}

TEST(Progress, HasShareRateAndTimeLeft) {
  EXPECT_EQ(progress_text("replay", "events", {.steps = 50, .of = 200, .ns = 2'000'000'000}),
            "replay: 25.0 %, 25 events a second, 6.00 s left");
  EXPECT_EQ(progress_text("fit", "events", {.steps = 0, .of = 200, .ns = 2'000'000'000}),
            "fit: 0 %, 0 events a second");
}

}  // namespace
}  // namespace vramscope
