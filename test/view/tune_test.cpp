// The search for settings over hand-made steps: what is proposed, and what is not.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <span>

#include "reporter/view/import/imports.h"
#include "reporter/view/trial/tune_answer.h"
#include "reporter/view/trial/tune_candidates.h"
#include "test/view/made_trial.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGpu = 65536 * kMiB;

// Each cycle leaves two large blocks free behind a small one that stays.
TrialSteps cycles(std::uint32_t count) {
  MadeTrial made(kGpu);
  made.allocate(0, 64 * kMiB);
  for (std::uint32_t i = 1; i <= count; ++i) {
    made.allocate(3 * i, 91 * kMiB).allocate(3 * i + 1, 91 * kMiB / 2);
    made.allocate(3 * i + 2, 2 * kMiB).free(3 * i).free(3 * i + 1);
  }
  TrialSteps steps = made.steps();
  steps.recorded.policy = "pytorch";
  return steps;
}

// Sizes that grow from round to round, so that no block that is free serves the next round.
TrialSteps growing_rounds(std::uint64_t step) {
  MadeTrial made(kGpu);
  for (std::uint32_t round = 0; round < 12; ++round) {
    made.allocate(1, (200 + step * round) * kMiB).allocate(2 + round, kMiB).free(1);
  }
  TrialSteps steps = made.steps();
  steps.recorded.policy = "pytorch";
  return steps;
}

TuneAnswer tuned(const std::vector<TrialSteps>& traces, const TuneWishes& wishes = {}) {
  std::string problem;
  TuneAnswer answer = tune_traces(traces, wishes, {}, problem);
  EXPECT_EQ(problem, "");
  return answer;
}

const TuneRow* row_with(const TuneAnswer& answer, const std::string& conf) {
  for (const TuneRow& row : answer.rows) {
    if (row.row().policy == Policy::pytorch && row.row().alloc_conf == conf) return &row;
  }
  return nullptr;
}

TEST(Tune, ProposesWhatReservesLess) {
  const TuneAnswer answer = tuned({growing_rounds(30)});

  ASSERT_TRUE(answer.ours.row);
  const TuneRow& best = answer.rows[*answer.ours.row];
  EXPECT_TRUE(answer.rows[0].row().is_recorded);
  EXPECT_EQ(answer.ours.from, 0U);
  EXPECT_LT(best.figures().peak_reserved_bytes, answer.rows[0].figures().peak_reserved_bytes / 2);
  EXPECT_EQ(best.saved_bytes,
            static_cast<std::int64_t>(answer.rows[0].figures().peak_reserved_bytes -
                                      best.figures().peak_reserved_bytes));
  EXPECT_TRUE(best.is_on_edge);
  ASSERT_TRUE(answer.ours.if_smaller && answer.ours.if_larger);
  EXPECT_GT(*answer.ours.if_smaller, kLeastWorth);
}

TEST(Tune, OfPyTorchOnlyWhatPyTorchHas) {
  const TuneAnswer answer = tuned({growing_rounds(30)});

  ASSERT_TRUE(answer.pytorch && answer.pytorch->row);
  EXPECT_EQ(answer.rows[*answer.pytorch->row].row().alloc_conf.find("growing"), std::string::npos);
  EXPECT_TRUE(is_of_pytorch("expandable_segments:True"));
  EXPECT_FALSE(is_of_pytorch("max_split_size_mb:64,growing_segments:True"));
}

TEST(Tune, ABadPairIsFoundByPlayingItAndNeverProposed) {
  const std::string pair = "expandable_segments:True,max_split_size_mb:128";
  TuneWishes wishes;
  wishes.asked.push_back({.mode = "cache", .policy = "pytorch", .alloc_conf = pair});

  const TuneAnswer answer = tuned({cycles(101)}, wishes);

  const TuneRow* const asked = row_with(answer, pair);
  ASSERT_NE(asked, nullptr);
  EXPECT_TRUE(asked->is_asked);
  EXPECT_EQ(asked->figures().peak_reserved_bytes >> 20, 14'060U);
  EXPECT_LT(asked->saved_bytes, 0);
  for (const auto& advice : {answer.ours, *answer.pytorch}) {
    const std::size_t row = advice.row.value_or(advice.from);
    EXPECT_LT(answer.rows[row].figures().peak_reserved_bytes, 500 * kMiB);
  }
}

TEST(Tune, KeepsSettingsWhereNothingSaves) {
  MadeTrial made(kGpu);
  made.allocate(0, 1024 * kMiB).allocate(1, 512 * kMiB).free(1).allocate(1, 512 * kMiB);

  const TuneAnswer answer = tuned({made.steps()});

  EXPECT_FALSE(answer.ours.row);
  ASSERT_TRUE(answer.pytorch);
  EXPECT_FALSE(answer.pytorch->row);
}

TEST(Tune, MemoryThatCostsManyDriverCallsIsNotProposed) {
  const TuneAnswer answer = tuned({cycles(101)});

  std::size_t dear = 0;
  for (const TuneRow& row : answer.rows) {
    const bool saves_little = row.saved > kLeastWorth && row.saved < 0.1;
    if (!saves_little || row.figures().driver_ns < 4 * answer.rows[0].figures().driver_ns) continue;
    EXPECT_LT(row.worth, kLeastWorth) << row.row().alloc_conf;
    ++dear;
  }
  EXPECT_GT(dear, 0U);
}

TEST(Tune, OfSeveralRunsTheWorstCounts) {
  MadeTrial plain(kGpu);
  plain.allocate(0, 3 * kMiB).allocate(1, 3 * kMiB);
  TrialSteps other = plain.steps();
  other.recorded.policy = "pytorch";

  const TuneAnswer one = tuned({growing_rounds(30)});
  const TuneAnswer both = tuned({growing_rounds(30), other});

  for (const TuneRow& row : both.rows) {
    ASSERT_EQ(row.traces.size(), 2U);
    const TuneRow* const alone = row_with(one, row.row().alloc_conf);
    if (alone == nullptr || row.row().is_recorded || row.row().policy != Policy::pytorch) continue;
    EXPECT_LE(row.worth, alone->worth + 1e-9) << row.row().alloc_conf;
  }
}

TEST(Tune, ASettingWithWhichARequestIsRefusedIsNotProposed) {
  TuneWishes wishes;
  wishes.adjust = [](std::size_t, TrialRow& row) {
    if (!row.alloc_conf.empty()) row.settings.capacity.fill(600 * kMiB);
  };

  const TuneAnswer answer = tuned({growing_rounds(30)}, wishes);

  for (const TuneRow& row : answer.rows) {
    EXPECT_EQ(row.fits(), row.row().is_recorded || row.row().alloc_conf.empty());
  }
  EXPECT_TRUE(answer.rows[answer.ours.row.value_or(0)].fits());
}

// Whether these requests of a library of PyTorch's are taken for its cache's.
bool are_torch_segments(const std::vector<std::uint64_t>& sizes, const std::string& owner) {
  ImportedRun run;
  ImportedNames names(run.names, owner);
  Address address = 1 << 30;
  for (const std::uint64_t bytes : sizes) {
    run.events.push_back({.tag = names.tag({.bytes = bytes}), .address = address, .bytes = bytes});
    address += bytes;
  }
  const std::string bytes = trace_of_import(run);
  TraceReader reader(std::as_bytes(std::span(bytes)), TraceReader::Damage::refused);
  TrialSteps steps;
  EXPECT_EQ(read_trial_steps(reader, TraceOf::vramscope, steps), "");
  EXPECT_EQ(steps.requests, sizes.size());
  return steps.has_torch_segments;
}

TEST(Tune, SegmentsOfPyTorchsCacheAreToldFromTensors) {
  EXPECT_TRUE(are_torch_segments({2 * kMiB, 20 * kMiB, 34 * kMiB}, "PyTorch"));
  EXPECT_FALSE(are_torch_segments({2 * kMiB, 20 * kMiB, 4096}, "PyTorch"));
  EXPECT_FALSE(are_torch_segments({2 * kMiB, 20 * kMiB}, "program"));
}

TEST(Tune, OfSegmentsOfPyTorchsCacheItSaysNothingOfPyTorch) {
  TrialSteps trace = growing_rounds(30);
  trace.has_torch_segments = true;

  EXPECT_FALSE(tuned({trace}).pytorch);
}

TEST(Tune, OptionsThatAreUnknownAreOneLine) {
  TuneWishes wishes;
  wishes.asked.push_back({.mode = "cache", .policy = "pytorch", .alloc_conf = "no_such_thing:1"});
  std::string problem;

  const TuneAnswer answer = tune_traces({growing_rounds(30)}, wishes, {}, problem);

  EXPECT_NE(problem.find("no_such_thing"), std::string::npos);
  EXPECT_TRUE(answer.rows.empty());
}

TEST(TuneCandidates, AreSettingsThatTheAllocatorTakesAndDiffer) {
  const TrialSteps trace = growing_rounds(30);
  std::vector<TuneCandidate> all = tune_grid();
  for (const TuneCandidate& one : tune_grid()) {
    for (const TuneCandidate& other : tune_neighbours(one)) all.push_back(other);
  }
  for (const TuneCandidate& one : all) {
    const MadeRow made = make_row(trace, {.policy = "pytorch", .alloc_conf = one.alloc_conf()});
    EXPECT_EQ(made.problem, "") << one.alloc_conf();
  }
  EXPECT_GT(all.size(), 2 * tune_grid().size());
  EXPECT_EQ(options_in(""), 0U);
  EXPECT_EQ(options_in("roundup_power2_divisions:[256:1,>:4],max_split_size_mb:64"), 2U);
}

}  // namespace
}  // namespace vramscope
