// Chooses traces, and follows several at a time.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/peaks/exact_peaks.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>

#include "reporter/report/report.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/analysis/peaks/peak_time.h"
#include "reporter/view/analysis/replay/several_traces.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/traced_usage.h"

namespace vramscope {
namespace {

using Reports = std::vector<ReportOfProcess>;

void follow(ReportOfProcess& one, std::atomic<std::uint64_t>& followed) {
  (void)use_whole_trace(one.file, one.process, [&](TraceReader& reader) {
    TraceFollower trace(reader);
    TracedUsage usage(reader, one, followed);
    if (!trace.follow({&usage}) || !usage.fits_the_report()) return false;
    usage.tell(one, trace.begin_ns());
    return true;
  });
}

bool has_bounds(const ReportOfProcess& one) { return one.peak->lower != one.peak->upper; }

// Of what all have, whether one has something of which more can be known.
bool wants_more(const Reports& reports, std::vector<NamedBytes> RankFacts::*named) {
  struct Common {
    std::size_t processes = 0;
    bool is_exact = true;
  };
  std::map<std::string, Common> by_name;
  for (const ReportOfProcess& one : reports) {
    for (const NamedBytes& each : one.facts.*named) {
      Common& common = by_name[each.name];
      ++common.processes;
      common.is_exact = common.is_exact && each.is_exact;
    }
  }
  return std::ranges::any_of(by_name, [&](const auto& found) {
    return found.second.processes == reports.size() && !found.second.is_exact;
  });
}

void set_peak(ReportOfProcess& one) {
  one.peak.reset();  // peak_bounds() returns it otherwise
  one.peak = peak_bounds(one);
}

template <class Wants>
void make_exact(Reports& reports, const Wants& wants, const TellShare& tell) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    ReportOfProcess& one = reports[i];
    set_peak(one);
    const bool may_know_more =
        !one.is_of_host && !one.traced_peak && !one.process.trace.path.empty();
    if (may_know_more && wants(one)) chosen.push_back(i);
  }
  std::uint64_t events = 0;
  for (const std::size_t which : chosen) events += reports[which].process.trace.events;
  const auto follow_one = [&](std::size_t i, std::atomic<std::uint64_t>& followed) {
    follow(reports[chosen[i]], followed);
  };
  follow_several(chosen.size(), follow_one, events, tell);
  for (const std::size_t which : chosen) set_peak(reports[which]);
}

}  // namespace

void make_peaks_exact(Reports& reports, const TellShare& tell) {
  make_exact(reports, has_bounds, tell);
}

void make_steps_exact(Reports& reports, const TellShare& tell) {
  const bool are_compared = are_of_one_program(reports);
  const bool wants_all = are_compared && (wants_more(reports, &RankFacts::marks) ||
                                          wants_more(reports, &RankFacts::ranges));
  const auto wants = [&](const ReportOfProcess& one) {
    if (has_bounds(one) || wants_all) return true;
    const std::optional<PeakTime> time = are_compared ? peak_time(one) : std::nullopt;
    return are_compared && !(time && time->is_exact());
  };
  make_exact(reports, wants, tell);
}

}  // namespace vramscope
