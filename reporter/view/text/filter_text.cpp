// Why a report cannot answer a filter.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/filter_text.h"

#include <utility>

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

// The option, why a report cannot answer it, and what can: the report's own trace where it is
// there.
std::string refusal(const std::string& option, const std::string& why, const Filter& filter,
                    const FilterUse& use, const std::string& trace) {
  const std::string command = "vramscope " + use.of_a_trace + " " + filter_text(filter) + " ";
  return option + ": " + why +
         (trace.empty() ? "; a trace does, which run --trace FILE makes: " + command + "FILE"
                        : "; its trace does: " + command + shell_word(trace));
}

std::string cannot_filter_counters(const Filter& filter) {
  const std::string trace_alone = first_typed(
      filter, {&Filter::thread, &Filter::stream, &Filter::range, &Filter::from, &Filter::to});
  const std::string option =
      first_typed(filter, {&Filter::kind, &Filter::owner, &Filter::site, &Filter::min_bytes});
  if (option.empty() && trace_alone.empty()) return {};
  return (option.empty() ? trace_alone : option) +
         ": counters are of a whole device or of the host; vramscope stats takes --device, and " +
         (option.empty()
              ? "for a trace, vramscope peak, leaks, sites and owners take " + trace_alone
              : "vramscope peak, leaks and sites take " + option);
}

// The option and why, of those that a report cannot answer for rows.
std::pair<std::string, std::string> unanswered_of_rows(const Filter& filter, const FilterUse& use) {
  const std::string time = first_typed(filter, {&Filter::from, &Filter::to});
  if (!time.empty() && !use.draws_window)
    return {time, "a report does not tell single allocations and their times"};
  const struct {
    Axis axis;
    const std::string& given;
    const char* name;
  } axes[] = {{Axis::thread, filter.thread, "thread"},
              {Axis::stream, filter.stream, "stream"},
              {Axis::range, filter.range, "range"}};
  for (const auto& [axis, given, name] : axes) {
    if (given.empty() || use.axis == axis) continue;
    const std::string option = name;
    return {"--" + option, "a report has sums by " + option + " alone (vramscope owners --by " +
                               option + "), and does not tell places of one apart"};
  }
  if (use.axis && *use.axis != Axis::owner && !filter.owner.empty()) {
    return {"--owner", "a report has sums by owner alone, and does not tell what else they are"};
  }
  if (use.axis && !filter.site.empty()) {
    return {"--site", "sums of a report do not tell call stacks, which vramscope sites has"};
  }
  return {};
}

// The same of calls: a report counts them by function, and allocations by thread.
std::pair<std::string, std::string> unanswered_of_calls(const Filter& filter,
                                                        const FilterUse& use) {
  const std::string time = first_typed(filter, {&Filter::from, &Filter::to});
  if (!time.empty()) return {time, "a report does not tell the times of single calls"};
  const bool is_by_thread = use.axis == Axis::thread;
  if (is_by_thread && !filter.function.empty())
    return {"--function", "a report does not tell which functions a thread called"};
  if (!is_by_thread && !filter.thread.empty()) {
    return {"--thread",
            "a report does not tell which thread called a function (vramscope calls --by thread "
            "has the allocations of each)"};
  }
  std::string memory = first_typed(
      filter, {&Filter::owner, &Filter::stream, &Filter::range, &Filter::site, &Filter::min_bytes});
  if (is_by_thread)
    return {memory, "a report does not tell more of a thread's calls than kinds and devices"};
  if (memory.empty() && filter.device) memory = "--device";
  if (memory.empty()) memory = first_typed(filter, {&Filter::kind});
  return {memory, "a report does not tell which memory the calls of a function were for"};
}

std::pair<std::string, std::string> unanswered(const Filter& filter, const FilterUse& use) {
  switch (use.subject) {
    case Subject::rows:
      return unanswered_of_rows(filter, use);
    case Subject::segments:
      return {first_typed(filter, {&Filter::thread, &Filter::stream, &Filter::range}),
              "a report does not tell more of blocks than call stacks and times"};
    case Subject::curves:
      return {first_typed(filter, {&Filter::owner, &Filter::thread, &Filter::stream, &Filter::range,
                                   &Filter::site}),
              "a report does not tell more of its timeline than kinds and devices"};
    case Subject::calls:
      return unanswered_of_calls(filter, use);
    default:
      return {};
  }
}

}  // namespace

std::string cannot_filter(const Filter& filter, const FilterUse& use, const std::string& trace) {
  if (use.subject == Subject::counters) return cannot_filter_counters(filter);
  if (use.subject == Subject::refusals) {
    return filter.stream.empty() ? ""
                                 : "--stream: which stream a refused allocation was for is not "
                                   "known; oom takes --thread, --range and --site";
  }
  if (use.judges_sums && !filter.min_bytes.empty()) {
    return "--min-bytes hides rows, and limits are for sums, which have them all; vramscope leaks "
           "and vramscope peak list rows of at least so many bytes";
  }
  const auto [option, why] = unanswered(filter, use);
  return option.empty() ? "" : refusal(option, why, filter, use, trace);
}

Answers answers(const FilterUse& use, std::string_view option) {
  Filter asked;
  if (option == "--device") asked.device = 0;
  if (const FilterOption member = option_named(option)) asked.*member = "1";
  if (use.inputs == Inputs::traces || cannot_filter(asked, use).empty()) return Answers::always;
  if (use.inputs != Inputs::both) return Answers::never;
  if (use.subject == Subject::calls) {
    const bool is_of_threads = option == "--thread" || option == "--device" || option == "--kind";
    return is_of_threads ? Answers::by_thread : Answers::of_traces;
  }
  const bool is_axis = option == "--thread" || option == "--stream" || option == "--range";
  return use.axis && is_axis ? Answers::by_axis : Answers::of_traces;
}

std::string filter_text(const Filter& filter) {
  std::string text;
  for (const auto& [option, value] : typed_options(filter)) {
    text += (text.empty() ? "" : " ") + (option + " " + shell_word(value));
  }
  return text;
}

}  // namespace vramscope
