// tune_traces() searches the allocator's settings for those that serve one or more recorded runs
// with the least reserved memory that is worth its driver calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/trial/trial_rows.h"
#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// The rule. A setting is worth the share of the recording's reserved peak that it saves, less these
// shares of it for each doubling of the time in driver calls, and for each option that is set. Of
// time in calls, what is below a thousandth of the run does not count. The setting that is worth
// most is proposed, unless it is worth less than kLeastWorth, or saves less than kLeastSaved. Of
// several runs that one counts in which the setting is worth least.
inline constexpr double kCostOfDoubling = 0.05;
inline constexpr double kCostOfOption = 0.01;
inline constexpr double kLeastWorth = 0.02;
inline constexpr std::uint64_t kLeastSaved = std::uint64_t{4} << 20;  // two segments of a driver
inline constexpr std::uint64_t kUnnoticedShare = 1000;

// Of one setting in one trace. Reserved bytes: those of the GPU that has most.
struct TuneFigures {
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t driver_calls = 0;
  std::uint64_t driver_ns = 0;
  std::uint64_t refusals = 0;  // requests without memory, as in the recording
  bool fits = true;            // no request is refused that the recording served
};

struct TuneRow {
  std::vector<TrialRow> settings;  // for each trace; they differ in the recordings' own row alone
  std::vector<TuneFigures> traces;
  bool is_asked = false;  // somebody typed it
  std::size_t worst = 0;  // the trace in which it is worth least; of the recordings', the largest
  double saved = 0;       // share of the recording's reserved peak there; below 0: it needs more
  double worth = 0;       // by the rule, against the recording's settings
  std::int64_t saved_bytes = 0;
  std::int64_t worth_bytes = 0;
  bool is_on_edge = false;  // no other one reserves less and takes no more time in calls

  [[nodiscard]] const TrialRow& row() const { return settings.front(); }
  [[nodiscard]] const TuneFigures& figures() const { return traces[worst]; }
  [[nodiscard]] bool fits() const;
};

// What to set.
struct TuneAdvice {
  std::size_t from = 0;                   // index of the row to compare with
  std::optional<std::size_t> row = {};    // nullopt: keep the settings
  std::size_t worst = 0;                  // the trace in which it is worth least
  double saved = 0;                       // share there
  std::optional<double> if_smaller = {};  // the same if every request were 5 % smaller, or larger:
  std::optional<double> if_larger = {};   // nullopt: one of both is refused then
};
inline constexpr double kOtherSizes = 0.05;

struct TuneAnswer {
  std::vector<TuneRow> rows;  // the recordings' own first, then by reserved peak
  TuneAdvice ours;
  // nullopt: PyTorch's cache itself made the requests, as segments, so its blocks are not known.
  std::optional<TuneAdvice> pytorch;
};

// asked: settings to try whatever they are worth; those of the recordings where nothing else was
// typed. capacity and costs of the rows are those of `adjust`. May throw bad_alloc.
struct TuneWishes {
  std::vector<TypedRow> asked = {};
  std::function<void(std::size_t trace, TrialRow&)> adjust = {};
};
// problem: one line, where a wish cannot be tried.
[[nodiscard]] TuneAnswer tune_traces(const std::vector<TrialSteps>& traces,
                                     const TuneWishes& wishes, const TellShare& tell,
                                     std::string& problem);

}  // namespace vramscope
