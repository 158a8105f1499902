// Looks for marks by name and number.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/asked_instant.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "reporter/view/analysis/filter/instant.h"
#include "reporter/view/trial/phase_finder.h"

namespace vramscope {
namespace {

std::vector<std::string> names_of_marks(const RecorderFacts& facts) {
  std::set<std::string> names;
  for (const MarkFact& mark : facts.marks) names.insert(mark.name);
  for (const RepeatedMark& mark : facts.repeated_marks) names.insert(mark.name);
  return {names.begin(), names.end()};
}

// "step#3" is the third "step". Nothing: no number stands behind a '#'.
std::optional<std::pair<std::string, std::uint64_t>> numbered(std::string_view asked) {
  const std::size_t sign = asked.rfind('#');
  if (sign == asked.npos || sign == 0) return std::nullopt;
  const std::string_view digits = asked.substr(sign + 1);
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  if (!is_whole || number == 0) return std::nullopt;
  return std::pair(std::string(asked.substr(0, sign)), number);
}

AskedInstant mark_of(const TraceFollower& trace, const std::string& name, const KnownMarks& marks,
                     std::optional<std::uint64_t> number) {
  using enum AskedInstant::State;
  AskedInstant asked{.mark = name, .repetitions = marks.all, .is_named = number.has_value()};
  if (marks.clocks_ns.empty()) {
    const auto is_it = [&](const RangeFact& range) { return name_of(range) == name; };
    const auto& ranges = trace.names().facts.ranges;
    asked.is_range = std::any_of(ranges.begin(), ranges.end(), is_it);
    asked.state = asked.is_range ? range : no_mark;
    asked.repetition = number.value_or(0);
    asked.known = names_of_marks(trace.names().facts);
    return asked;
  }
  const auto last = std::prev(marks.clocks_ns.end());
  const auto its = number ? marks.clocks_ns.find(*number) : last;
  if (its == marks.clocks_ns.end()) {
    asked.state = *number > marks.all ? too_few : not_recorded;
    asked.repetition = *number > marks.all ? *number : last->first;
    return asked;
  }
  asked.repetition = its->first;
  asked.at_ns = after(trace.begin_ns(), its->second);
  return asked;
}

// When the entries of a range made their first allocations.
class RangeBegins final : public TraceObserver {
 public:
  RangeBegins(const TraceNames& names, const std::string& range)
      : phase_{.name = range, .begins = {}, .numbers = {}, .known = {}}, finder_(names, &phase_) {}
  void came(const TraceBlock& block, const FollowedEvent& now) override {
    if (now.one.what != trace::What::came) return;
    finder_.allocated(now.one.thread, block.tag, std::max<std::uint64_t>(now.instant_ns, 1));
  }
  [[nodiscard]] const std::vector<std::uint64_t>& times() const { return phase_.begins; }

 private:
  TrialPhase phase_;
  PhaseFinder finder_;
};

}  // namespace

bool find_range(TraceFollower& trace, AskedInstant& asked) {
  using enum AskedInstant::State;
  RangeBegins begins(trace.names(), asked.mark);
  if (!trace.follow({&begins})) return false;
  asked.repetitions = begins.times().size();
  if (!asked.is_named) asked.repetition = asked.repetitions;
  const bool has_it = asked.repetition <= asked.repetitions;
  asked.state = asked.repetitions == 0 ? unused_range : has_it ? found : too_few;
  // What begins at an instant counts.
  if (asked.state == found) asked.at_ns = begins.times()[asked.repetition - 1] - 1;
  return true;
}

AskedInstant find_instant(const TraceFollower& trace, std::string_view asked) {
  if (asked == "end") return {.at_ns = trace.length_ns(), .is_end = true};
  if (const std::optional<std::uint64_t> time = read_instant(asked)) {
    const bool is_in = *time <= trace.length_ns();
    return {.state = is_in ? AskedInstant::State::found : AskedInstant::State::after_end,
            .at_ns = *time};
  }
  const RecorderFacts& facts = trace.names().facts;
  const std::string name(asked);
  const KnownMarks whole = marks_named(facts, name);
  const auto with_number = numbered(asked);
  if (!whole.clocks_ns.empty() || !with_number) return mark_of(trace, name, whole, std::nullopt);
  const auto& [its_name, number] = *with_number;
  return mark_of(trace, its_name, marks_named(facts, its_name), number);
}

AskedInstant find_instant(const Report& report, std::string_view asked) {
  const auto with_number = numbered(asked);
  const std::string name = with_number ? with_number->first : std::string(asked);
  const auto is_it = [&](const NamedInstant& mark) {
    return mark.name == asked || mark.name == name;
  };
  const bool is_time = asked == "end" || read_instant(asked);
  const bool are_all_kept = report.range_marks <= report.marks.size();
  AskedInstant found{.mark = is_time ? "" : name};
  found.is_range =
      !is_time && std::any_of(report.axes.begin(), report.axes.end(), [&](const auto& row) {
        return row.axis == Axis::range && (row.value == asked || row.value == name);
      });
  if (is_time || !are_all_kept || found.is_range ||
      std::any_of(report.marks.begin(), report.marks.end(), is_it)) {
    return found;
  }
  found.state = AskedInstant::State::no_mark;
  std::set<std::string> names;
  for (const NamedInstant& mark : report.marks) names.insert(mark.name);
  found.known.assign(names.begin(), names.end());
  return found;
}

}  // namespace vramscope
