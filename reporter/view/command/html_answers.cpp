// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/html_answers.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/advise.h"
#include "reporter/view/command/fit_ways.h"
#include "reporter/view/page/page_answers.h"

namespace vramscope {
namespace {

constexpr std::uintmax_t kMostTraceBytes = 4 << 20;  // fit takes about two seconds for these

std::string advice_of_trace(const std::string& path, const Reading& reading,
                            const StackChoice& stacks) {
  const NameFrame name = names_from_symbols();
  const std::optional<TraceAdvice> advice = advice_in_trace(path, reading, stacks);
  if (!advice) return "";
  return advice_for_page({.report = advice->report,
                          .found = advice->found,
                          .file = path,
                          .has_segments = advice->has_segments,
                          .is_trace = true},
                         name);
}

// What a replay refuses has no answer on a page: `vramscope fit` says why.
std::string fit_of_trace(const std::string& path) {
  const auto since = ProgressLine::Clock::now();
  std::optional<TrialSteps> trace =
      open_trial(path, Incomplete::refused, nullptr, [](const std::string&) {});
  if (!trace) return "";
  return fit_for_page({path, *trace, fit_of(*trace, {}, since).answer});
}

}  // namespace

PageAnswers answers_of_trace(const std::string& path, const Reading& reading,
                             const StackChoice& stacks) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes > kMostTraceBytes) return {left_to("advise", path), left_to("fit", path)};
  return {advice_of_trace(path, reading, stacks), fit_of_trace(path)};
}

PageAnswers answers_of_report(const std::string& path, const Report& report, const Reading& reading,
                              const StackChoice& stacks) {
  if (is_of_several(report)) return {};
  const std::string trace = whole_trace_of(path, report);
  if (!trace.empty()) return answers_of_trace(trace, reading, stacks);
  const NameFrame name = names_from_symbols();
  const std::vector<Advice> found = advice_of_report(report, name);
  return {.advice = advice_for_page({.report = report,
                                     .found = found,
                                     .file = path,
                                     .has_segments = has_telling_segments(report)},
                                    name)};
}

}  // namespace vramscope
