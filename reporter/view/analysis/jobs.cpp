// Groups the processes by job and rank.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/jobs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace vramscope {
namespace {

using Processes = std::vector<const ProcessFacts*>;

// Without the number of ranks, gaps up to the highest rank are all that is known to be missing.
void set_missing(Job& job) {
  const auto known = static_cast<std::uint64_t>(job.ranks.value_or(0));
  const std::uint64_t end = std::max(known, static_cast<std::uint64_t>(job.reported.back()) + 1);
  job.missing_count = end - job.reported.size();
  std::int64_t next = 0;
  for (const std::int64_t rank : job.reported) {
    for (; next < rank && job.missing.size() < kMostMissing; ++next) job.missing.push_back(next);
    next = rank + 1;
  }
  for (; static_cast<std::uint64_t>(next) < end && job.missing.size() < kMostMissing; ++next) {
    job.missing.push_back(next);
  }
}

// Whether one of the processes began after another one of the same program had ended.
bool is_in_sequence(const Processes& of_rank) {
  return std::any_of(of_rank.begin(), of_rank.end(), [&](const ProcessFacts* later) {
    return std::any_of(of_rank.begin(), of_rank.end(), [&](const ProcessFacts* earlier) {
      return later != earlier && later->executable == earlier->executable &&
             later->start_time_ns > earlier->report_time_ns && earlier->report_time_ns != 0;
    });
  });
}

void set_restarts(Job& job, const std::map<std::int64_t, Processes>& by_rank) {
  for (const auto& [rank, processes] : by_rank) {
    std::int64_t times = 0;
    for (const ProcessFacts* process : processes) times = std::max(times, process->restart);
    if (times > 0) {
      job.restarted.push_back({rank, times});
    } else if (is_in_sequence(processes)) {
      job.in_sequence.push_back(rank);
    }
  }
}

// The ranks by what `value_of` gives; empty if that is the same for all that are known.
template <class ValueOf>
std::vector<RanksWith> ranks_by(const std::vector<const ReportOfProcess*>& reports,
                                ValueOf&& value_of) {
  std::map<std::string, std::set<std::int64_t>> all;
  for (const ReportOfProcess* one : reports) {
    const std::string value = value_of(*one);
    if (!value.empty()) all[value].insert(one->process.process.rank);
  }
  std::vector<RanksWith> found;
  if (all.size() < 2) return found;
  for (const auto& [value, ranks] : all) found.push_back({value, {ranks.begin(), ranks.end()}});
  std::stable_sort(found.begin(), found.end(), [](const RanksWith& a, const RanksWith& b) {
    return a.ranks.size() > b.ranks.size();
  });
  return found;
}

// Builds of the program that most of them run: a rank may start others.
std::vector<RanksWith> builds_of(const std::vector<const ReportOfProcess*>& reports) {
  std::map<std::string, std::size_t> programs;
  for (const ReportOfProcess* one : reports) ++programs[one->process.process.executable];
  const auto usual =
      std::max_element(programs.begin(), programs.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return ranks_by(reports, [&](const ReportOfProcess& one) {
    return one.process.process.executable == usual->first ? one.process.build : std::string();
  });
}

void set_late_hosts(Job& job, const std::vector<const ReportOfProcess*>& reports) {
  constexpr std::uint64_t kMinuteNs = 60'000'000'000;
  std::map<std::string, std::uint64_t> began;
  for (const ReportOfProcess* one : reports) {
    const ProcessFacts& process = one->process.process;
    if (process.start_time_ns == 0 || process.restart > 0) continue;
    const auto [known, is_new] = began.try_emplace(process.hostname, process.start_time_ns);
    known->second = std::min(known->second, process.start_time_ns);
  }
  if (began.size() < 2) return;
  const auto first = std::min_element(
      began.begin(), began.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [host, time_ns] : began) {
    const std::uint64_t after_ns = time_ns - first->second;
    if (after_ns > kMinuteNs) job.late.push_back({host, first->first, after_ns});
  }
}

Job job_of(const std::vector<const ReportOfProcess*>& reports) {
  Job job{.name = reports.front()->process.process.job};
  std::map<std::int64_t, Processes> by_rank;
  for (const ReportOfProcess* one : reports) {
    const ProcessFacts& process = one->process.process;
    if (job.launcher.empty()) job.launcher = process.launcher;
    if (process.world_size > 0) job.ranks = std::max(job.ranks.value_or(0), process.world_size);
    by_rank[process.rank].push_back(&process);
  }
  for (const auto& [rank, processes] : by_rank) job.reported.push_back(rank);
  set_missing(job);
  set_restarts(job, by_rank);
  job.builds = builds_of(reports);
  job.versions = ranks_by(reports, [](const ReportOfProcess& one) { return one.process.version; });
  set_late_hosts(job, reports);
  return job;
}

}  // namespace

std::vector<Job> jobs_of(const std::vector<ReportOfProcess>& reports) {
  std::map<std::string, std::vector<const ReportOfProcess*>> by_name;
  for (const ReportOfProcess& one : reports) {
    const ProcessFacts& process = one.process.process;
    if (process.rank >= 0) by_name[process.job].push_back(&one);
  }
  std::vector<Job> jobs;
  for (const auto& [name, of_job] : by_name) jobs.push_back(job_of(of_job));
  return jobs;
}

}  // namespace vramscope
