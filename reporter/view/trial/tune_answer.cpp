// Plays a grid of settings, and then those beside the best, over all traces.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/tune_answer.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "reporter/view/trial/tune_candidates.h"

namespace vramscope {
namespace {

constexpr int kMostRounds = 4;  // of refinement

TuneFigures figures_of(const TrialResult& result) {
  TuneFigures figures{.driver_calls = result.driver_calls,
                      .driver_ns = result.driver_ns,
                      .refusals = result.refusals};
  for (const TrialDevice& device : result.devices) {
    figures.peak_reserved_bytes = std::max(figures.peak_reserved_bytes, device.peak_reserved_bytes);
  }
  return figures;
}

std::uint64_t run_ns(const TrialSteps& trace) {
  return trace.steps.empty() ? 0 : trace.steps.back().at_ns;
}

// What a setting saves and is worth in one trace.
struct Judged {
  double saved = 0;
  double worth = 0;
};
Judged judge(const TuneFigures& from, const TuneFigures& to, std::uint64_t run, double options) {
  const auto reserved = static_cast<double>(std::max<std::uint64_t>(from.peak_reserved_bytes, 1));
  const std::uint64_t unnoticed =
      std::max({from.driver_ns, run / kUnnoticedShare, std::uint64_t{1}});
  const double times = static_cast<double>(to.driver_ns) / static_cast<double>(unnoticed);
  const double saved = 1 - static_cast<double>(to.peak_reserved_bytes) / reserved;
  return {saved,
          saved - kCostOfDoubling * std::log2(std::max(times, 1.0)) - kCostOfOption * options};
}

// The search. Threads: one.
class Tuning {
 public:
  Tuning(const std::vector<TrialSteps>& traces, const TuneWishes& wishes, const TellShare& tell)
      : traces_(traces), wishes_(wishes), tell_(tell) {}

  // Why it cannot begin, or "".
  std::string begin() {
    TuneRow recorded;
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const std::string problem = take(recorded_row(traces_[i]), i, recorded);
      if (!problem.empty()) return "the trace's own settings: " + problem;
    }
    offer(std::move(recorded));
    for (const TypedRow& typed : wishes_.asked) {
      const std::string problem = offer(typed, true);
      if (!problem.empty()) return problem;
    }
    try_candidates(tune_grid());
    return "";
  }

  // Around the best for us and for PyTorch, until nothing beside them is better.
  void refine() {
    std::vector<std::size_t> known;
    for (int round = 0; round < kMostRounds; ++round) {
      std::vector<TuneCandidate> next;
      for (const bool of_pytorch : {false, true}) {
        const auto best = best_candidate(of_pytorch);
        if (!best || std::ranges::count(known, *best) != 0) continue;
        known.push_back(*best);
        for (TuneCandidate& one : tune_neighbours(candidates_[*best].second)) next.push_back(one);
      }
      if (next.empty()) return;
      try_candidates(next);
    }
  }

  TuneAnswer finish() && {
    TuneAnswer answer{.rows = {}, .ours = advise(0, false), .pytorch = {}};
    const bool has_segments = std::ranges::any_of(traces_, &TrialSteps::has_torch_segments);
    if (!has_segments) answer.pytorch = advise(pytorch_base(), true);
    mark_edge();
    order(answer);
    return answer;
  }

 private:
  std::string take(MadeRow made, std::size_t trace, TuneRow& row) const {
    if (!made.row) return made.problem;
    if (wishes_.adjust) wishes_.adjust(trace, *made.row);
    row.settings.push_back(std::move(*made.row));
    return "";
  }

  [[nodiscard]] bool is_known(const TuneRow& row, bool is_asked) {
    for (TuneRow& known : rows_) {
      bool is_it = true;
      for (std::size_t i = 0; i < traces_.size(); ++i) {
        is_it = is_it && is_same_setting(known.settings[i], row.settings[i]);
      }
      known.is_asked |= is_it && is_asked;
      if (is_it) return true;
    }
    return false;
  }
  void offer(TuneRow row) {
    rows_.push_back(std::move(row));
    waiting_.push_back(rows_.size() - 1);
  }
  std::string offer(const TypedRow& typed, bool is_asked) {
    TuneRow row;
    row.is_asked = is_asked;
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const std::string problem = take(make_row(traces_[i], typed), i, row);
      if (!problem.empty()) return problem;
    }
    if (!is_known(row, is_asked)) offer(std::move(row));
    return "";
  }

  void try_candidates(const std::vector<TuneCandidate>& list) {
    for (const TuneCandidate& one : list) {
      const std::size_t before = rows_.size();
      const bool is_safe = one.policy == Policy::native_safe;
      static_cast<void>(offer({.mode = "cache",
                               .policy = is_safe ? "native-safe" : "pytorch",
                               .alloc_conf = one.alloc_conf()},
                              false));
      if (rows_.size() > before) candidates_.emplace_back(before, one);
    }
    play_waiting();
  }

  void play_waiting() {
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      std::vector<TrialSettings> settings;
      for (const std::size_t at : waiting_) settings.push_back(rows_[at].settings[i].settings);
      std::vector<TrialResult> results = play_all(traces_[i], settings, tell_);
      const auto refusals = play_refused_again(traces_[i], settings, results, tell_);
      for (std::size_t k = 0; k < waiting_.size(); ++k) {
        TuneFigures figures = figures_of(results[k]);
        figures.fits = !refusals[k];
        rows_[waiting_[k]].traces.push_back(figures);
      }
    }
    for (const std::size_t at : waiting_) settle(rows_[at]);
    waiting_.clear();
  }

  void settle(TuneRow& row) const {
    if (&row == &rows_.front()) {
      const auto largest =
          std::ranges::max_element(row.traces, {}, &TuneFigures::peak_reserved_bytes);
      row.worst = static_cast<std::size_t>(largest - row.traces.begin());
      return;
    }
    const auto [judged, worst] = judged_against(rows_.front(), row);
    row.worst = worst;
    row.saved = judged.saved;
    row.worth = judged.worth;
    const std::uint64_t before = rows_.front().traces[worst].peak_reserved_bytes;
    row.saved_bytes = static_cast<std::int64_t>(before) -
                      static_cast<std::int64_t>(row.traces[worst].peak_reserved_bytes);
    row.worth_bytes = std::llround(judged.worth * static_cast<double>(before));
  }
  // In the trace in which it is worth least.
  [[nodiscard]] std::pair<Judged, std::size_t> judged_against(const TuneRow& from,
                                                              const TuneRow& row) const {
    std::pair<Judged, std::size_t> least;
    const auto options = static_cast<double>(options_in(row.row().alloc_conf));
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const Judged one = judge(from.traces[i], row.traces[i], run_ns(traces_[i]), options);
      if (i == 0 || one.worth < least.first.worth) least = {one, i};
    }
    return least;
  }

  // A setting may be proposed if it refuses nothing that the recording served.
  [[nodiscard]] static bool may_serve(const TuneRow& row, bool of_pytorch) {
    if (!row.fits()) return false;
    return !of_pytorch || (row.row().mode == Mode::cache && row.row().policy == Policy::pytorch &&
                           is_of_pytorch(row.row().alloc_conf));
  }
  [[nodiscard]] static std::uint64_t refusals_of(const TuneRow& row) {
    std::uint64_t sum = 0;
    for (const TuneFigures& one : row.traces) sum += one.refusals;
    return sum;
  }

  // Fewer refusals, then worth, then less time in calls.
  [[nodiscard]] bool is_better(std::size_t a, std::size_t b, std::size_t from) const {
    const std::uint64_t refused_a = refusals_of(rows_[a]), refused_b = refusals_of(rows_[b]);
    if (refused_a != refused_b) return refused_a < refused_b;
    const double worth_a = judged_against(rows_[from], rows_[a]).first.worth;
    const double worth_b = judged_against(rows_[from], rows_[b]).first.worth;
    if (worth_a != worth_b) return worth_a > worth_b;
    return time_of(rows_[a]) < time_of(rows_[b]);
  }
  [[nodiscard]] std::optional<std::size_t> best_candidate(bool of_pytorch) const {
    std::optional<std::size_t> best;  // index into candidates_
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::size_t row = candidates_[i].first;
      if (!may_serve(rows_[row], of_pytorch)) continue;
      if (!best || is_better(row, candidates_[*best].first, 0)) best = i;
    }
    return best;
  }

  // What a program of PyTorch's has without any option, unless it was recorded with some.
  [[nodiscard]] std::size_t pytorch_base() const {
    const auto is_pytorch = [](const TrialRow& row) {
      return row.mode == Mode::cache && row.policy == Policy::pytorch;
    };
    if (std::ranges::all_of(rows_.front().settings, is_pytorch)) return 0;
    for (const auto& [row, candidate] : candidates_) {
      if (candidate == TuneCandidate{}) return row;
    }
    return 0;
  }

  TuneAdvice advise(std::size_t from, bool of_pytorch) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == from || i == 0 || !may_serve(rows_[i], of_pytorch)) continue;
      if (!best || is_better(i, *best, from)) best = i;
    }
    TuneAdvice advice{.from = from};
    if (!best || !is_worth_it(from, *best)) return advice;
    const auto [judged, worst] = judged_against(rows_[from], rows_[*best]);
    advice.row = best;
    advice.worst = worst;
    advice.saved = judged.saved;
    advice.if_smaller = saved_with(advice, 1 - kOtherSizes);
    advice.if_larger = saved_with(advice, 1 + kOtherSizes);
    return advice;
  }
  [[nodiscard]] bool is_worth_it(std::size_t from, std::size_t to) const {
    if (!rows_[from].fits() || refusals_of(rows_[to]) < refusals_of(rows_[from])) return true;
    const auto [judged, worst] = judged_against(rows_[from], rows_[to]);
    const std::uint64_t before = rows_[from].traces[worst].peak_reserved_bytes;
    const std::uint64_t after = rows_[to].traces[worst].peak_reserved_bytes;
    return judged.worth >= kLeastWorth && after + kLeastSaved <= before;
  }

  // The least share that is saved of any trace when each large request has another size.
  [[nodiscard]] std::optional<double> saved_with(const TuneAdvice& advice, double factor) const {
    std::optional<double> least;
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const TrialSteps other = resized(traces_[i], factor);
      const std::vector<TrialResult> results = play_all(
          other, {rows_[advice.from].settings[i].settings, rows_[*advice.row].settings[i].settings},
          tell_);
      if (results[0].refusal || results[1].refusal) return std::nullopt;
      const double saved = judge(figures_of(results[0]), figures_of(results[1]), 0, 0).saved;
      least = std::min(least.value_or(saved), saved);
    }
    return least;
  }
  static TrialSteps resized(const TrialSteps& trace, double factor) {
    constexpr std::uint64_t kLarge = std::uint64_t{1} << 20, kStep = 512;
    TrialSteps other = trace;
    other.segments.clear();
    for (TrialStep& step : other.steps) {
      if (step.what == TrialStep::What::use_changed || step.bytes <= kLarge) continue;
      const auto bytes = static_cast<std::uint64_t>(static_cast<double>(step.bytes) * factor);
      step.bytes = std::max(bytes / kStep * kStep, kLarge + kStep);
    }
    return other;
  }

  static std::uint64_t time_of(const TuneRow& row) {
    std::uint64_t sum = 0;
    for (const TuneFigures& one : row.traces) sum += one.driver_ns;
    return sum;
  }
  // Of those that cost the same and save the same, the one with the fewest options.
  void mark_edge() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].fits()) order.push_back(i);
    }
    std::ranges::sort(order, {}, [&](std::size_t i) {
      return std::tuple(-rows_[i].saved, time_of(rows_[i]), options_in(rows_[i].row().alloc_conf));
    });
    std::uint64_t least_ns = UINT64_MAX;
    for (const std::size_t i : order) {
      rows_[i].is_on_edge = time_of(rows_[i]) < least_ns;
      least_ns = std::min(least_ns, time_of(rows_[i]));
    }
  }

  // Moves the rows into the answer: the recordings' first, then by reserved peak and time.
  void order(TuneAnswer& answer) {
    std::vector<std::size_t> order(rows_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin() + 1, order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(-rows_[a].saved, time_of(rows_[a])) <
             std::pair(-rows_[b].saved, time_of(rows_[b]));
    });
    const auto renumber = [&](std::size_t& index) {
      index = static_cast<std::size_t>(std::ranges::find(order, index) - order.begin());
    };
    for (TuneAdvice* const advice : {&answer.ours, answer.pytorch ? &*answer.pytorch : nullptr}) {
      if (advice == nullptr) continue;
      renumber(advice->from);
      if (advice->row) renumber(*advice->row);
    }
    for (const std::size_t i : order) answer.rows.push_back(std::move(rows_[i]));
  }

  const std::vector<TrialSteps>& traces_;
  const TuneWishes& wishes_;
  const TellShare& tell_;
  std::vector<TuneRow> rows_;                                      // the recordings' own first
  std::vector<std::size_t> waiting_;                               // to be played
  std::vector<std::pair<std::size_t, TuneCandidate>> candidates_;  // with their rows
};

}  // namespace

bool TuneRow::fits() const { return std::ranges::all_of(traces, &TuneFigures::fits); }

TuneAnswer tune_traces(const std::vector<TrialSteps>& traces, const TuneWishes& wishes,
                       const TellShare& tell, std::string& problem) {
  Tuning tuning(traces, wishes, tell);
  problem = tuning.begin();
  if (!problem.empty()) return {};
  tuning.refine();
  return std::move(tuning).finish();
}

}  // namespace vramscope
