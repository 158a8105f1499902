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

constexpr const char* kTracesTell = "; traces (run --trace '%p.trace') would tell";

std::string processes_text(std::size_t count) {
  return count_text(static_cast<std::int64_t>(count)) + " processes";
}

std::string since_text(RankClock clock) {
  return clock == RankClock::wall ? " after the first process began" : " after its start";
}

std::string when_text(const PeakTime& time, RankClock clock) {
  if (time.is_exact()) return "at " + duration_text(time.from_ns) + since_text(clock);
  return "between " + duration_text(time.from_ns) + " and " + duration_text(time.until_ns) +
         since_text(clock);
}

// Surely later by so much; 0: perhaps not.
std::uint64_t median_is_later(const FirstPeak& first) {
  return first.median.from_ns - std::min(first.median.from_ns, first.time.until_ns);
}

// Earlier by less is how exactly processes start together.
bool is_much(const Reports& reports, std::uint64_t ns) {
  constexpr std::uint64_t kLeastNs = 20'000'000;
  std::uint64_t longest = 0;
  for (const ReportOfProcess& one : reports)
    longest = std::max(longest, one.process.timeline.duration_ns);
  return ns >= std::max(kLeastNs, longest / 20);
}

void add_first_peak(Document& text, const Reports& reports, const FirstPeak& first) {
  if (!is_much(reports, median_is_later(first))) return;
  const bool is_exact = first.time.is_exact() && first.median.is_exact();
  const std::string of = first.compared == reports.size()
                             ? ""
                             : " of the " + processes_text(first.compared) + " whose time is known";
  text.paragraph("first at its peak: " + name_of(reports, first.which) + ", " +
                 (first.bytes.lower == first.bytes.upper ? "" : "<= ") +
                 amount_text(first.bytes.upper) + " " + when_text(first.time, first.clock) +
                 "; the median" + of + " is " + (is_exact ? "" : "at least ") +
                 duration_text(median_is_later(first)) + " later");
  for (const Difference& row : first.sites)
    text.deeper(site_difference_text(row, name_of(reports, first.median_in)));
}

// Those that may be the first, unless it would not be much earlier.
void add_candidates(Document& text, const Reports& reports, const RanksAnswer& answer) {
  constexpr std::size_t kMostNamed = 4;
  PeakTime all{.from_ns = UINT64_MAX};
  std::vector<std::string> names;
  for (const TimedPeak& peak : answer.peaks) {
    const bool may_be_first = peak.time.from_ns < answer.peaks.front().time.until_ns;
    if (!may_be_first && peak.which != answer.peaks.front().which) continue;
    names.push_back(name_of(reports, peak.which));
    all.from_ns = std::min(all.from_ns, peak.time.from_ns);
    all.until_ns = std::max(all.until_ns, peak.time.until_ns);
  }
  if (!is_much(reports, all.until_ns - all.from_ns)) return;
  if (names.size() == reports.size()) {
    text.paragraph("which process is first at its peak is not known: all were there " +
                   when_text(all, answer.clock) + kTracesTell);
    return;
  }
  const std::string who =
      names.size() <= kMostNamed ? enumerated(names) : processes_text(names.size());
  text.paragraph("first at its peak is one of " + who + ", " + when_text(all, answer.clock) +
                 kTracesTell);
}

void add_no_first_peak(Document& text, const Reports& reports, const RanksAnswer& answer) {
  if (answer.no_first_peak == NoFirstPeak::overlap) return add_candidates(text, reports, answer);
  const auto has_memory = [](const ReportOfProcess& one) { return peak_bounds(one).upper != 0; };
  if (answer.no_first_peak != NoFirstPeak::unknown || !std::ranges::any_of(reports, has_memory))
    return;
  text.paragraph(
      std::string("which process is first at its peak is not known: kinds of memory or GPUs "
                  "peaked at different times, and there is no timeline") +
      kTracesTell);
}

// What the numbers of a step are from.
std::string source_text(const NamedSpread& step) {
  const std::string rest =
      step.what == NamedSpread::What::range ? "counters" : "timelines, roughly";
  switch (step.from) {
    case BytesFrom::timeline:
      return " (by timelines, roughly)";
    case BytesFrom::trace:
      return " (by traces)";
    case BytesFrom::mixed:
      return " (by " + counted(step.traced, "trace") + ", the others by " + rest + ")";
    case BytesFrom::report:
      break;
  }
  return "";
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
      step.name + "'" + source_text(step) + ": " + amount_text(step.spread.most) + " in " +
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
  add_no_first_peak(lines, reports, answer);
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
  constexpr auto from = &PeakTime::from_ns, until = &PeakTime::until_ns;
  const auto time = [](PeakTime Row::*which, std::uint64_t PeakTime::*bound) {
    return [=](const Row& row) { return row.*which.*bound; };
  };
  const auto of_bytes = [](std::uint64_t PeakBounds::*bound) {
    return [bound](const Row& row) { return row.bytes.*bound; };
  };
  const Columns<Difference> site{
      {"bytes", "at that process's peak", bytes(&Difference::after)},
      {"median_bytes", "at the peak of the process with the median", bytes(&Difference::before)},
      {"frames", "call stack, innermost first", &Difference::frames}};
  return {
      {"pid", "process whose peak comes first", [=](const Row& row) { return pid(row.which); }},
      {"clock", "what times count from: `start` of each process, or `wall`: of the first one",
       &Row::clock, OneOf(kRankClockNames)},
      {"peak_ns", "when; the earliest, if only bounds are known", time(&Row::time, from)},
      {"peak_until_ns", "the latest; equal to `peak_ns` if the time is known exactly",
       time(&Row::time, until)},
      {"peak_bytes", "its peak; an upper bound, if only bounds are known",
       of_bytes(&PeakBounds::upper)},
      {"peak_lower_bytes", "lower bound of the same", of_bytes(&PeakBounds::lower)},
      {"median_pid", "process with the median of the peaks",
       [=](const Row& row) { return pid(row.median_in); }},
      {"median_ns", "median of the times of all processes; of the earliest, if there are bounds",
       time(&Row::median, from)},
      {"median_until_ns", "the same of the latest", time(&Row::median, until)},
      {"compared", "how many processes have a known time", &Row::compared},
      {"sites", "what it held more than that process, three at most", site, &Row::sites}};
}

Columns<TimedPeak> timed_peak_columns(const Reports& reports) {
  using Row = TimedPeak;
  return {{"pid", "process",
           [&reports](const Row& row) { return reports[row.which].process.process.pid; }},
          {"peak_ns", "when; the earliest, if only bounds are known",
           [](const Row& row) { return row.time.from_ns; }},
          {"peak_until_ns", "the latest; equal to `peak_ns` if the time is known exactly",
           [](const Row& row) { return row.time.until_ns; }}};
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
       "`mark`: device memory from this mark to the next; `range`: "
       "device memory allocated in this NVTX range; `library`: memory of a communication "
       "library; all kinds added up",
       &Row::what, OneOf(kWhatNames)},
      {"name", "`step#3`: the third of that name", &Row::name},
      {"processes", "how many have it", [](const Row& row) { return row.processes; }},
      {"source",
       "what the bytes are from. `trace`: exactly; `timeline`: buckets, roughly and as an upper "
       "bound; `report`: counters, whose peaks of several kinds or devices are added up; `mixed`: "
       "the traces of some processes",
       &Row::from, OneOf(kBytesFromNames)},
      {"traced", "processes whose bytes are from their traces",
       [](const Row& row) { return row.traced; }},
      {"min_bytes", "least peak of a process", of(&Spread::least)},
      {"median_bytes", "median; of an even number the mean of the middle two", of(&Spread::median)},
      {"max_bytes", "most", of(&Spread::most)},
      {"min_pid", "process that has the least", pid(&Spread::least_in)},
      {"max_pid", "process that has the most", pid(&Spread::most_in)}};
}

}  // namespace vramscope
