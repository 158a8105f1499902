// The allocator against the naive model: seeded random calls and faults, compared after each one.
// SPDX-License-Identifier: Apache-2.0
//
// VRAMSCOPE_MODEL_OPERATIONS=N runs N operations in all scenarios together, and N in the grid of
// settings and faults (250,000). VRAMSCOPE_MODEL_SEED=N starts from another seed. What fails is
// shrunk, printed and written to a file of the current folder; moved to test/model/kept, it is
// played by every run from then on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "test/model/duel.h"
#include "test/model/operations.h"
#include "test/model/scenarios.h"

namespace vramscope {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// What fails, as short as can be.
void keep(const Scenario& scenario, std::vector<Operation> operations, const Failure& failure) {
  operations.resize(std::min(operations.size(), failure.index + 1));
  const Check check = [&](const std::vector<Operation>& o) { return run(scenario, o, 1); };
  const std::vector<Operation> shortest = shrink(operations, check);
  std::ostringstream text;
  write_sequence(text, scenario, shortest);
  const std::string file = std::string(scenario.name) + ".sequence";
  std::ofstream(file) << text.str();
  FAIL() << "seed " << scenario.seed << ", operation " << failure.index << ": " << failure.what
         << "\nshortest sequence that fails (" << shortest.size()
         << " operations): " << check(shortest).what << '\n'
         << text.str() << "kept in " << std::filesystem::absolute(file);
}

void play(Scenario scenario, std::uint64_t count) {
  constexpr std::size_t kSnapshotEvery = 64;
  scenario.seed += number_from("VRAMSCOPE_MODEL_SEED", 0);
  const std::vector<Operation> operations = make_operations(scenario, count);

  const Failure failure = run(scenario, operations, kSnapshotEvery);

  if (!failure.what.empty()) keep(scenario, operations, failure);
}

std::uint64_t total_operations() { return number_from("VRAMSCOPE_MODEL_OPERATIONS", 250000); }

const auto kBothReuses = testing::Values(ReuseTime::at_free, ReuseTime::at_reuse);

class Model : public testing::TestWithParam<std::tuple<Scenario, ReuseTime>> {};

TEST_P(Model, AgreesAfterEachOperation) {
  Scenario scenario = std::get<Scenario>(GetParam());
  scenario.reuse = std::get<ReuseTime>(GetParam());

  play(scenario, total_operations() / (2 * kScenarios.size()));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Model,
                         testing::Combine(testing::ValuesIn(kScenarios), kBothReuses),
                         [](const auto& info) {
                           const bool at_free =
                               std::get<ReuseTime>(info.param) == ReuseTime::at_free;
                           return std::string(std::get<Scenario>(info.param).name) +
                                  (at_free ? "" : "_at_reuse");
                         });

// Every settings string with every pattern of faults; sizes and room go round.
class Grid : public testing::TestWithParam<std::tuple<std::uint32_t, Faults>> {};

std::string grid_name(const std::tuple<std::uint32_t, Faults>& point) {
  std::ostringstream name;
  name << "settings_" << std::get<0>(point) << '_' << std::get<1>(point);
  return name.str();
}

TEST_P(Grid, AgreesAfterEachOperation) {
  const auto [settings, faults] = GetParam();
  const auto turn = settings + static_cast<std::uint32_t>(faults);
  const std::string name = grid_name(GetParam());

  play({.name = name.c_str(),
        .seed = 1000 + 10 * settings + static_cast<std::uint32_t>(faults),
        .sizes = static_cast<Sizes>(turn % kSizes),
        .slots = 60 + 20 * (turn % 4),
        .places = 5,
        .home = turn % 5,
        .settings = settings,
        .capacity = (turn % 3 == 0 ? 2000 : 400) * kScenarioMiB,
        .exact_fallback = turn % 2 == 0,
        .reuse = turn % 4 < 2 ? ReuseTime::at_free : ReuseTime::at_reuse,
        .policy = turn % 3 == 1 ? Policy::native_safe : Policy::pytorch,
        .reuse_addresses = turn % 7 < 3,
        .whole = turn % 5 == 0 ? 30U : 0U,
        .faults = faults},
       total_operations() / (kSettings.size() * kFaults.size()));
}

INSTANTIATE_TEST_SUITE_P(SettingsByFaults, Grid,
                         testing::Combine(testing::Range<std::uint32_t>(0, kSettings.size()),
                                          testing::ValuesIn(kFaults)),
                         [](const auto& info) { return grid_name(info.param); });

TEST(Kept, WhatFailedOnceAgreesNow) {
  const char* folder = std::getenv("VRAMSCOPE_KEPT");
  ASSERT_NE(folder, nullptr);
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path());
    Scenario scenario;
    std::vector<Operation> operations;
    ASSERT_TRUE(read_sequence(in, scenario, operations)) << file.path();

    const Failure failure = run(scenario, operations, 1);

    EXPECT_EQ(failure.what, "") << file.path() << ", operation " << failure.index;
    ++count;
  }
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace vramscope
