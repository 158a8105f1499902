// SPDX-License-Identifier: Apache-2.0
#include "test/view/made_trial.h"

#include <algorithm>

#include "reporter/view/text/fit_text.h"
#include "reporter/view/text/phase_text.h"
#include "reporter/view/text/replay_text.h"
#include "reporter/view/text/scale_text.h"
#include "reporter/view/text/tune_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kStepNs = 1'000'000;

std::vector<TrialRow> rows_on(const TrialSteps& trace, std::uint64_t capacity) {
  std::vector<TrialRow> rows = usual_rows(trace);
  for (TrialRow& row : rows) row.settings.capacity.fill(capacity);
  return rows;
}

}  // namespace

MadeTrial::MadeTrial(std::uint64_t total_bytes) : total_bytes_(total_bytes) {
  steps_.recorded.are_known = true;
  if (total_bytes != 0) use(512 * kMiB);
}

MadeTrial& MadeTrial::add(TrialStep step) {
  step.at_ns = steps_.steps.size() * kStepNs;
  steps_.steps.push_back(step);
  return *this;
}

std::uint16_t MadeTrial::place(Place where) {
  auto& places = steps_.places;
  const auto found = std::ranges::find(places, where);
  if (found == places.end()) places.push_back(where);
  const auto number = static_cast<std::uint16_t>(std::ranges::find(places, where) - places.begin());
  if (takes_device_memory(where.kind) && std::ranges::count(steps_.devices, where.device) == 0) {
    steps_.devices.push_back(where.device);
  }
  return number;
}

MadeTrial& MadeTrial::allocate(std::uint32_t slot, std::uint64_t bytes, Place where) {
  steps_.slots = std::max(steps_.slots, slot + 1);
  ++steps_.requests;
  return add({.bytes = bytes, .slot = slot, .place = place(where)});
}

MadeTrial& MadeTrial::free(std::uint32_t slot) {
  return add({.slot = slot, .what = TrialStep::What::freed});
}

MadeTrial& MadeTrial::refuse(std::uint64_t bytes) {
  return add({.bytes = bytes, .place = place({}), .what = TrialStep::What::refused});
}

MadeTrial& MadeTrial::use(std::uint64_t unrecorded_bytes, std::uint16_t device) {
  const auto index = static_cast<std::uint32_t>(steps_.uses.size());
  steps_.uses.push_back(
      {.device = device, .total_bytes = total_bytes_, .unrecorded_bytes = unrecorded_bytes});
  steps_.total_bytes[device] = total_bytes_;
  return add({.slot = index, .what = TrialStep::What::use_changed});
}

MadeTrial& MadeTrial::end(Place where) {
  return add({.place = place(where), .what = TrialStep::What::place_ended});
}

TrialSteps golden_trial() {
  MadeTrial made(4096 * kMiB);
  made.allocate(0, 1024 * kMiB);
  for (std::uint32_t round = 1; round <= 12; ++round) {
    made.allocate(1, (100 + 30 * round) * kMiB).allocate(2, round * 3 * kMiB);
    for (std::uint32_t i = 3; i < 20; ++i) made.allocate(i, 20'000 * i + round * 100);
    // Cut from what was freed, if the policy cuts, and kept for a round.
    made.free(1).allocate(20 + round % 2, 12 * kMiB).allocate(1, (400 - 25 * round) * kMiB);
    if (round > 1) made.free(20 + (round + 1) % 2);
    for (std::uint32_t i = 1; i < 20; ++i) made.free(i);
  }
  return made.steps();
}

std::string replay_of_golden(const Page& page) {
  static const TrialSteps trace = golden_trial();
  static const ReplayAnswer answer = replay_trace(trace, rows_on(trace, 2100 * kMiB), {});
  return render(replay_text({"train.4711.trace", trace, answer, {}}, page, {}), page);
}

std::string fit_of_golden(const Page& page) {
  static const TrialSteps trace = golden_trial();
  static const FitAnswer answer = fit_trace(trace, usual_rows(trace), {});
  return render(fit_text({"train.4711.trace", trace, answer}, page, {}), page);
}

std::string phase_of_golden(const Page& page) {
  static const TrialSteps trace = golden_trial();
  static TrialPhase phase{
      .name = "step", .begins = {}, .numbers = {}, .is_mark = true, .marks = 14, .known = {}};
  static const TrialRow row = recorded_row(trace).row.value();
  for (std::size_t i = 0; i < trace.steps.size() && phase.begins.size() < 12; ++i) {
    const TrialStep& step = trace.steps[i];
    if (step.what == TrialStep::What::allocated && step.slot == 2) phase.begins.push_back(i);
  }
  while (phase.numbers.size() < phase.begins.size()) {
    phase.numbers.push_back(phase.numbers.size() + 1);
  }
  static const PhaseAnswer answer = follow_phase(trace, row, phase, {});
  return render(phase_text({"train.4711.trace", phase, row, trace, answer}, page, {}), page);
}

std::string scale_of_golden(const Page& page) {
  std::vector<ScaledRun> runs;
  for (const std::uint64_t batch : {2, 4, 8}) {
    ScaledRun run{.batch = batch, .sites = {}};
    const auto add = [&](const std::string& where, std::uint64_t mebibytes) {
      run.sites.push_back({.frames = {where}, .where = where, .bytes = mebibytes * kMiB});
      run.least_bytes += mebibytes * kMiB;
    };
    add("make_weights (train.cpp:12) < main (train.cpp:80)", 1500);
    add("forward<float> (layers.h:120) < step (train.cpp:44)", 350 * batch + batch % 3);
    add("attention (layers.h:210) < step (train.cpp:46)", 12 * batch * batch);
    run.least_bytes += (530 + batch) * kMiB;
    runs.push_back(std::move(run));
  }
  static const ScaleAnswer answer = scale_of(std::move(runs), {16, 32});
  return render(scale_text({{"b2.trace", "b4.trace", "b8.trace"}, "batch", answer}, page, {}),
                page);
}

std::string tune_of_golden(const Page& page) {
  static const std::vector<TrialSteps> traces{golden_trial()};
  static std::string problem;
  static const TuneAnswer answer = tune_traces(traces, {}, {}, problem);
  return render(tune_text({{"train.4711.trace"}, traces, answer, {}}, page, {}), page);
}

}  // namespace vramscope
