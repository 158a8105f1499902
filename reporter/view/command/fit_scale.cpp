// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <span>

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/command/fit_ways.h"
#include "reporter/view/command/progress.h"
#include "reporter/view/text/scale_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kMostBatch = 1'000'000'000;

// "2,4,8"; {} where it is no such list.
std::vector<std::uint64_t> numbers_in(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + comma, number);
    const bool is_number = error == std::errc() && rest == text.data() + comma;
    if (!is_number || number == 0 || number > kMostBatch) return {};
    numbers.push_back(number);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (text.empty() && rest[0] == ',') return {};
  }
  return numbers;
}

struct TypedScale {
  std::string name;
  std::vector<std::uint64_t> batches;
};
TypedScale scale_in(const std::string& typed) {
  const std::size_t equals = std::min(typed.find('='), typed.size());
  return {typed.substr(0, equals),
          numbers_in(std::string_view(typed).substr(std::min(equals + 1, typed.size())))};
}

std::string why_no_scale(const TypedScale& scale, std::size_t files) {
  if (files < 2) {
    return "fit --scale expects two traces or more: one run does not tell how memory grows";
  }
  if (scale.batches.size() != files) {
    return "--scale has " + counted(scale.batches.size(), "number") + " for " +
           counted(files, "trace") + ": expected one for each";
  }
  std::vector<std::uint64_t> sorted = scale.batches;
  std::ranges::sort(sorted);
  const auto same = std::ranges::adjacent_find(sorted);
  if (same == sorted.end()) return "";
  return "--scale has " + std::to_string(*same) + " twice: expected another " + scale.name +
         " for each trace";
}

// Says why there is none.
std::optional<ScaledRun> run_of(TrialArguments& given, const std::string& file, std::uint64_t batch,
                                ProgressLine& progress) {
  std::optional<TrialSteps> trace = open_trial(file, given.incomplete());
  if (!trace) return std::nullopt;
  assume_contexts(*trace);
  const MadeRows made = make_rows(*trace, given.trial);
  if (!made.problem.empty()) {
    say(made.problem);
    return std::nullopt;
  }
  const auto least = least_memory(*trace, made.rows.front(), Sought::capacity, progress.teller());
  if (!least) {
    say("no GPU has memory enough for the run of '" + file + "'");
    return std::nullopt;
  }
  std::optional<Report> report = open_traced(file, {}, {});
  if (!report) return std::nullopt;
  choose_frames(*report, {});
  return ScaledRun{
      .batch = batch, .least_bytes = *least, .sites = sites_at_peak(*report, names_from_symbols())};
}

}  // namespace

std::string no_scale(const std::string& given) {
  const TypedScale scale = scale_in(given);
  const bool is_one = !scale.name.empty() && !scale.batches.empty();
  return is_one ? "" : "'" + given + "' is no name with numbers, such as batch=2,4,8";
}

std::string no_numbers(const std::string& given) {
  return numbers_in(given).empty() ? "'" + given + "' is no list of numbers, such as 16,32" : "";
}

int show_scale(TrialArguments& given, const ScaleWish& wish) {
  if (given.listing.most == 0 && !given.listing.typed_most) given.listing.most = kScaleRows;
  settle_rows(given.listing);
  given.listing.rows().refuse_unless({names_of(scale_columns())});
  const TypedScale scale = scale_in(wish.scale);
  const std::string problem = why_no_scale(scale, given.files.size());
  if (!problem.empty()) return refuse(problem);
  const auto since = ProgressLine::Clock::now();
  std::vector<ScaledRun> runs;
  for (std::size_t i = 0; i < given.files.size(); ++i) {
    ProgressLine progress("fit", "events", since);
    std::optional<ScaledRun> run = run_of(given, given.files[i], scale.batches[i], progress);
    if (!run) return kBadInput;
    runs.push_back(std::move(*run));
  }
  const ScaleAnswer answer = scale_of(std::move(runs), numbers_in(wish.at));
  ShownTrials shown(given.listing);
  shown.add(Scaled{given.files, scale.name, answer}, scale_fields(shown.choice()), answer.rows,
            scale_columns(), scale_text);
  return shown.publish();
}

}  // namespace vramscope
