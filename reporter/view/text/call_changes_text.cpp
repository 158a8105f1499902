// Driver calls of two runs, side by side.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/call_changes_text.h"

#include <algorithm>
#include <cstdlib>

#include "reporter/view/listing/json_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kLeastCallsChangeNs = 50'000'000;

// "+740 ms".
std::string time_change_text(std::int64_t ns) {
  if (ns == 0) return "0 ns";
  return (ns < 0 ? "-" : "+") + duration_text(static_cast<std::uint64_t>(std::abs(ns)));
}

std::string calls_of_side(const DriverCalls& calls) {
  return duration_text(calls.total_ns) + " in " + counted(calls.calls, "call");
}

}  // namespace

Columns<CallChange> call_change_columns() {
  using Row = CallChange;
  const auto before = within(&Row::before);
  const auto after = within(&Row::after);
  return {
      {"function", "exported name of the driver's function", &Row::name},
      {"change_ns", "after minus before", &Row::change_ns, Titled("CHANGE"),
       [](const Row& row) { return time_change_text(row.change_ns()); }},
      {"before_ns", "time in its calls in BEFORE, summed over all threads",
       before(&DriverCall::total_ns), Titled("BEFORE")},
      {"after_ns", "the same in AFTER", after(&DriverCall::total_ns), Titled("AFTER")},
      {"before_calls", "number of calls in BEFORE", before(&DriverCall::calls),
       Titled("CALLS BEFORE", 1)},
      {"after_calls", "number of calls in AFTER", after(&DriverCall::calls),
       Titled("CALLS AFTER", 2)},
      {"before_failures", "how many of the calls in BEFORE failed", before(&DriverCall::failures)},
      {"after_failures", "how many of the calls in AFTER failed", after(&DriverCall::failures)},
      {"before_max_ns", "the longest in BEFORE; `null`: no call", before(&DriverCall::max_ns)},
      {"after_max_ns", "the longest in AFTER; `null`: no call", after(&DriverCall::max_ns)},
      {{"FUNCTION"}, &Row::name}};
}

Columns<CallsOfTwo> call_changes_fields(std::size_t most) {
  using Two = CallsOfTwo;
  const auto before = within(&Two::before);
  const auto after = within(&Two::after);
  return {{"before", "BEFORE, as typed", &Two::before_file},
          {"after", "AFTER, as typed", &Two::after_file},
          {"by", "what is compared: `call`", [](const Two&) { return std::string("call"); }},
          {"before_ns", "time in driver calls in BEFORE, summed over all threads",
           before(&DriverCalls::total_ns)},
          {"after_ns", "the same in AFTER", after(&DriverCalls::total_ns)},
          {"before_calls", "number of calls in BEFORE", before(&DriverCalls::calls)},
          {"after_calls", "number of calls in AFTER", after(&DriverCalls::calls)},
          {"rows", "the largest change first", call_change_columns(),
           [most](const Two& two) { return first_rows(two.rows, most); }}};
}

Document call_changes_text(const CallsOfTwo& two, const Page& page, std::size_t most) {
  Document text;
  text.title("Time in driver calls, summed over all threads");
  text.line("  from " + two.before_file);
  text.line("  to   " + two.after_file);
  text.gap();
  text.paragraph(calls_of_side(two.before) + " -> " + calls_of_side(two.after));
  text.gap();
  if (two.rows.empty()) {
    text.line("Neither recorded a driver call.");
    return text;
  }
  text.table(table_of(call_change_columns(), two.rows, page, most),
             and_more(two.rows, most, "function"));
  text.next("calls", two.after_file);
  return text;
}

std::string calls_changed_text(const DriverCalls& before, const DriverCalls& after) {
  const auto [less, more] = std::minmax(before.total_ns, after.total_ns);
  if (more - less < kLeastCallsChangeNs || more < less / 2 * 3 || before.rows.empty() ||
      after.rows.empty()) {
    return "";
  }
  return "driver calls  " + duration_text(before.total_ns) + " -> " +
         duration_text(after.total_ns) + ": vramscope diff --by call";
}

}  // namespace vramscope
