// What ranks differ in over time, in sentences.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/ranks_answer_text.h"

#include <algorithm>
#include <string>

#include "reporter/view/text/process_text.h"
#include "reporter/view/text/ranks_text.h"

namespace vramscope {
namespace {

using Reports = std::vector<ReportOfProcess>;

std::string name_of(const Reports& reports, std::size_t which) {
  return named_process(reports[which].process.process);
}

// Earlier by less is how exactly processes start together.
bool is_early(const Reports& reports, const FirstPeak& first) {
  constexpr std::uint64_t kLeastNs = 20'000'000;
  std::uint64_t longest = 0;
  for (const ReportOfProcess& one : reports)
    longest = std::max(longest, one.process.timeline.duration_ns);
  return first.median_ns - first.at_ns >= std::max(kLeastNs, longest / 20);
}

void add_first_peak(Document& text, const Reports& reports, const FirstPeak& first) {
  if (!is_early(reports, first)) return;
  text.paragraph(
      "first at its peak: " + name_of(reports, first.which) + ", " + amount_text(first.bytes) +
      " at " + duration_text(first.at_ns) +
      (first.clock == RankClock::wall ? " after the first process began" : " after its start") +
      "; the median is " + duration_text(first.median_ns - first.at_ns) + " later");
  for (const Difference& row : first.sites)
    text.deeper(site_difference_text(row, name_of(reports, first.median_in)));
}

bool are_apart(const Spread& spread) {
  constexpr std::uint64_t kLeastBytes = std::uint64_t{1} << 20;
  return spread.most - spread.least >= std::max(kLeastBytes, spread.median / 10 + 1);
}

// Of the step in which they differ most.
void add_step(Document& text, const Reports& reports, const std::vector<NamedSpread>& steps) {
  if (steps.empty() || !are_apart(steps.front().spread)) return;
  const NamedSpread& step = steps.front();
  const bool is_range = step.what == NamedSpread::What::range;
  text.paragraph(
      std::string(is_range ? "most apart in the range '" : "most apart after the mark '") +
      step.name + "': " + amount_text(step.spread.most) + " in " +
      name_of(reports, step.spread.most_in) + ", median " + amount_text(step.spread.median) + ", " +
      amount_text(step.spread.least) + " in " + name_of(reports, step.spread.least_in));
}

void add_libraries(Document& text, const Reports& reports,
                   const std::vector<NamedSpread>& libraries) {
  std::string line;
  for (const NamedSpread& one : libraries) {
    const Spread& spread = one.spread;
    line += (line.empty() ? "" : "; ") + one.name + " at most " + amount_text(spread.most);
    line += spread.least == spread.most
                ? " in each"
                : " in " + name_of(reports, spread.most_in) + ", median " +
                      amount_text(spread.median) + ", least " + amount_text(spread.least);
  }
  if (!line.empty()) text.paragraph("communication libraries: " + line);
}

constexpr std::string_view kWhatNames[] = {"mark", "range", "library"};

}  // namespace

Document ranks_answer_text(const Reports& reports, const RanksAnswer& answer) {
  Document lines;
  if (answer.first_peak) add_first_peak(lines, reports, *answer.first_peak);
  add_step(lines, reports, answer.steps);
  add_libraries(lines, reports, answer.libraries);
  if (lines.is_empty()) return lines;
  Document text;
  text.title("Over time");
  text.append(lines);
  return text;
}

Columns<FirstPeak> first_peak_columns(const Reports& reports) {
  using Row = FirstPeak;
  const auto pid = [&reports](std::size_t which) { return reports[which].process.process.pid; };
  const auto bytes = [](DiffSide Difference::*side) {
    return [side](const Difference& row) { return (row.*side).bytes; };
  };
  const Columns<Difference> site{
      {"bytes", "at that process's peak", bytes(&Difference::after)},
      {"median_bytes", "at the peak of the process with the median", bytes(&Difference::before)},
      {"frames", "call stack, innermost first", &Difference::frames}};
  return {{"pid", "process whose peak comes first", [=](const Row& row) { return pid(row.which); }},
          {"clock", "what times count from: `start` of each process, or `wall`: of the first one",
           &Row::clock, OneOf(kRankClockNames)},
          {"peak_ns", "when", &Row::at_ns},
          {"peak_bytes", "its peak", &Row::bytes},
          {"median_pid", "process with the median of the peaks",
           [=](const Row& row) { return pid(row.median_in); }},
          {"median_ns", "median of the times of all processes", &Row::median_ns},
          {"sites", "what it held more than that process, three at most", site, &Row::sites}};
}

Columns<NamedSpread> named_spread_columns(const Reports& reports) {
  using Row = NamedSpread;
  const auto of = within(&Row::spread);
  const auto pid = [&reports](std::size_t Spread::*which) {
    return [&reports, which](const Row& row) {
      return reports[row.spread.*which].process.process.pid;
    };
  };
  return {
      {"what",
       "`mark`: device memory from this mark to the next, by the timeline's buckets; `range`: "
       "device memory allocated in this NVTX range; `library`: memory of a communication "
       "library; all kinds added up",
       &Row::what, OneOf(kWhatNames)},
      {"name", "`step#3`: the third of that name", &Row::name},
      {"processes", "how many have it", [](const Row& row) { return row.processes; }},
      {"min_bytes", "least peak of a process", of(&Spread::least)},
      {"median_bytes", "median; of an even number the mean of the middle two", of(&Spread::median)},
      {"max_bytes", "most", of(&Spread::most)},
      {"min_pid", "process that has the least", pid(&Spread::least_in)},
      {"max_pid", "process that has the most", pid(&Spread::most_in)}};
}

}  // namespace vramscope
