// Finds capacities by halving, each half by a replay.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/fit_answer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "reporter/view/trial/gpu_models.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::uint64_t in_steps(std::uint64_t bytes) { return (bytes + kFitStep - 1) / kFitStep; }

// Follows what the program holds of each device, whatever serves it. Threads: one.
class Held {
 public:
  explicit Held(const TrialSteps& trace) : trace_(trace), slots_(trace.slots) {}

  void add(const TrialStep& step) {
    using enum TrialStep::What;
    switch (step.what) {
      case allocated:
      case came:
        return hold(step);
      case freed:
      case freed_in_order:
      case went:
        return let_go(slots_[step.slot]);
      case place_ended:
        for (Slot& slot : slots_) {
          if (slot.place == step.place) let_go(slot);
        }
        return;
      case use_changed:
        return change_use(step.slot);
      default:
        return;
    }
  }
  // The most that one device held, together with what else was used there.
  [[nodiscard]] std::uint64_t most() const { return most_; }

 private:
  struct Slot {
    std::uint16_t place = 0;
    std::uint64_t bytes = 0;
  };

  void hold(const TrialStep& step) {
    const Place where = trace_.places[step.place];
    if (!takes_room(where.kind)) return;
    slots_[step.slot] = {step.place, step.bytes};
    live_[where.device] += step.bytes;
    note(where.device);
  }
  void let_go(Slot& slot) {
    live_[trace_.places[slot.place].device] -= std::exchange(slot.bytes, 0);
  }
  void change_use(std::uint32_t index) {
    const std::uint16_t device = trace_.uses[index].device;
    const bool is_learned = index < trace_.others.size();
    others_[device] = is_learned ? trace_.others[index] : trace_.uses[index].unrecorded_bytes;
    note(device);
  }
  void note(std::uint16_t device) { most_ = std::max(most_, live_[device] + others_[device]); }

  const TrialSteps& trace_;
  std::vector<Slot> slots_;
  std::array<std::uint64_t, kMaxDevices> live_{};
  std::array<std::uint64_t, kMaxDevices> others_{};
  std::uint64_t most_ = 0;
};

// With less no setting helps.
std::uint64_t least_possible(const TrialSteps& trace) {
  Held held(trace);
  for (const TrialStep& step : trace.steps) held.add(step);
  return held.most();
}

// One search for the least capacity. Its trials are played with those of the others.
class Search {
 public:
  Search(TrialRow row, std::uint64_t least, Sought sought)
      : sought_(sought), low_(std::max<std::uint64_t>(in_steps(least), 1)) {
    found_.row = std::move(row);
  }

  [[nodiscard]] bool is_over() const { return is_over_; }
  // The capacity to try next.
  [[nodiscard]] TrialSettings next() const {
    TrialSettings settings = found_.row.settings;
    const bool is_limit = sought_ == Sought::memory_limit;
    if (!is_limit) settings.capacity.fill(steps_to_try() * kFitStep);
    settings.memory_limit.fill(is_limit ? steps_to_try() * kFitStep : 0);
    return settings;
  }
  void take(TrialResult result) {
    const std::uint64_t tried = steps_to_try();
    if (result.refusal) {
      if (tried >= in_steps(kMostCapacity)) {
        is_over_ = true;
        return;
      }
      found_.refusal = result.refusal;
      low_ = tried + 1;
    } else {
      if (!first_used_) first_used_ = used_of(result);
      high_ = tried;
      found_.least_bytes = tried * kFitStep;
      found_.result = std::move(result);
    }
    is_over_ = high_ != 0 && low_ >= high_;
  }
  [[nodiscard]] FitRow found() && { return std::move(found_); }

 private:
  static std::uint64_t used_of(const TrialResult& result) {
    std::uint64_t most = 0;
    for (const TrialDevice& device : result.devices) {
      most = std::max(most, device.peak_used_bytes);
    }
    return in_steps(most);
  }
  // First a GPU without end, then one of what was used there, then halves.
  [[nodiscard]] std::uint64_t steps_to_try() const {
    const std::uint64_t most = in_steps(kMostCapacity);
    if (!first_used_) return most;
    if (high_ == most) return std::clamp(*first_used_, low_, most - 1);
    return low_ + (high_ - low_) / 2;
  }

  FitRow found_;
  const Sought sought_;
  std::uint64_t low_;       // with less it does not complete
  std::uint64_t high_ = 0;  // with so much it does; 0: not known
  std::optional<std::uint64_t> first_used_;
  bool is_over_ = false;
};

std::vector<FitRow> search(const TrialSteps& trace, std::vector<TrialRow> rows, Sought sought,
                           const TellShare& tell) {
  const std::uint64_t least = sought == Sought::capacity ? least_possible(trace) : 0;
  std::vector<Search> searches;
  for (TrialRow& row : rows) searches.emplace_back(std::move(row), least, sought);
  for (;;) {
    std::vector<Search*> open;
    std::vector<TrialSettings> settings;
    for (Search& one : searches) {
      if (one.is_over()) continue;
      open.push_back(&one);
      settings.push_back(one.next());
    }
    if (open.empty()) break;
    std::vector<TrialResult> results = play_all(trace, settings, tell);
    for (std::size_t i = 0; i < open.size(); ++i) open[i]->take(std::move(results[i]));
  }
  std::vector<FitRow> found;
  for (Search& one : searches) found.push_back(std::move(one).found());
  return found;
}

// Gives the row to the GPUs on which it completes, of those that have none. Each is tried: what
// completes with little memory might not with more.
void try_row(const TrialSteps& trace, const std::vector<FitRow>& rows, std::size_t number,
             std::vector<GpuFit>& gpus, const TellShare& tell) {
  const FitRow& row = rows[number];
  std::vector<GpuFit*> open;
  std::vector<TrialSettings> settings;
  for (GpuFit& fit : gpus) {
    if (fit.row || !row.least_bytes || *row.least_bytes > fit.gpu.bytes) continue;
    open.push_back(&fit);
    settings.push_back(row.row.settings);
    settings.back().capacity.fill(fit.gpu.bytes);
    settings.back().memory_limit.fill(0);
  }
  if (open.empty()) return;
  const std::vector<TrialResult> results = play_all(trace, settings, tell);
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!results[i].refusal) open[i]->row = number;
  }
}

std::vector<GpuFit> fit_gpus(const TrialSteps& trace, const std::vector<FitRow>& rows,
                             const TellShare& tell) {
  std::vector<GpuFit> gpus;
  for (UsualGpu& gpu : usual_gpus()) gpus.push_back({.gpu = std::move(gpu)});
  for (std::size_t i = 0; i < rows.size(); ++i) try_row(trace, rows, i, gpus, tell);
  std::optional<std::uint64_t> least;
  for (const FitRow& row : rows) {
    if (row.least_bytes && (!least || *row.least_bytes < *least)) least = row.least_bytes;
  }
  for (GpuFit& fit : gpus) {
    if (!fit.row)
      fit.missing_bytes = least.value_or(0) - std::min(fit.gpu.bytes, least.value_or(0));
  }
  return gpus;
}

}  // namespace

std::vector<UsualGpu> usual_gpus() {
  std::vector<UsualGpu> gpus;
  for (const simulator::Model& model : simulator::models()) {
    gpus.push_back({std::string(model.name), model.memory});
  }
  for (const std::uint64_t size : {40, 48, 96}) {
    gpus.push_back({"a GPU of " + std::to_string(size) + " GiB", size * kGiB});
  }
  std::ranges::stable_sort(gpus, {}, &UsualGpu::bytes);
  return gpus;
}

std::optional<std::uint64_t> least_memory(const TrialSteps& trace, const TrialRow& row,
                                          Sought sought, const TellShare& tell) {
  return search(trace, {row}, sought, tell).front().least_bytes;
}

bool assume_contexts(TrialSteps& trace) {
  if (!trace.uses.empty()) return false;
  for (const std::uint16_t device : trace.devices) {
    const auto index = static_cast<std::uint32_t>(trace.uses.size());
    trace.uses.push_back({.device = device, .unrecorded_bytes = kUsualContextBytes});
    trace.steps.insert(trace.steps.begin(), {.slot = index, .what = TrialStep::What::use_changed});
  }
  return true;
}

FitAnswer fit_trace(const TrialSteps& trace, std::vector<TrialRow> rows, const TellShare& tell) {
  FitAnswer answer{.rows = search(trace, std::move(rows), Sought::capacity, tell), .gpus = {}};
  answer.gpus = fit_gpus(trace, answer.rows, tell);
  for (const UnrecordedChange& use : trace.uses) {
    answer.unrecorded_bytes = std::max(answer.unrecorded_bytes, use.unrecorded_bytes);
  }
  return answer;
}

}  // namespace vramscope
