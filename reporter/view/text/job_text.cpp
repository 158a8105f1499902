// Jobs in words.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/job_text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace vramscope {
namespace {

constexpr std::size_t kJobsTold = 4;

std::string number(std::int64_t of) { return count_text(static_cast<std::uint64_t>(of)); }

// "job 4711.0 of Slurm"; "the job" without a name.
std::string name_of(const Job& job) {
  std::string text = job.name.empty() ? "the job" : "job " + job.name;
  if (!job.launcher.empty() && job.launcher != "RANK") text += " of " + job.launcher;
  return text;
}

std::string missing_text(const Job& job) {
  const std::string all =
      ranks_list(job.missing) + (job.missing_count > job.missing.size() ? " and more" : "");
  return all + (job.missing_count == 1 ? " is missing" : " are missing");
}

// "job 4711.0 of Slurm: 62 of 64 ranks have reports; ranks 17 and 40 are missing".
std::string reported_text(const Job& job) {
  const std::size_t reported = job.reported.size();
  if (!job.ranks) {
    if (job.missing_count == 0) return "";
    return name_of(job) + ": " + missing_text(job) + " among the ranks up to " +
           number(job.reported.back()) + "; how many there were is not known";
  }
  const bool are_all = job.missing_count == 0;
  return name_of(job) + ": " +
         (are_all ? "all " + number(*job.ranks)
                  : count_text(reported) + " of " + number(*job.ranks)) +
         (*job.ranks == 1 ? " rank has a report" : " ranks have reports") +
         (are_all ? "" : "; " + missing_text(job));
}

// By how often: "rank 3 was restarted once", "ranks 0 to 7 were restarted twice".
void add_restarts(Document& text, const Job& job) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_times;
  for (const Restarted& one : job.restarted) by_times[one.times].push_back(one.rank);
  for (const auto& [times, ranks] : by_times) {
    const std::string often = times == 1 ? "once" : times == 2 ? "twice" : number(times) + " times";
    text.paragraph(ranks_list(ranks) + (ranks.size() == 1 ? " was" : " were") + " restarted " +
                   often);
  }
  if (job.in_sequence.empty()) return;
  const bool is_one = job.in_sequence.size() == 1;
  text.paragraph(ranks_list(job.in_sequence) + (is_one ? " has" : " have") +
                 " reports of processes that ran one after the other: restarts, or several runs in "
                 "one folder");
}

// "rank 3 runs another build of the program than 7 other ranks".
void add_odd_ranks(Document& text, const std::vector<RanksWith>& groups,
                   const std::string& singular, const std::string& plural) {
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const std::vector<std::int64_t>& ranks = groups[i].ranks;
    text.paragraph(ranks_list(ranks) + " " + (ranks.size() == 1 ? singular : plural) + " (" +
                   groups[i].value + ") than " + ranks_list(groups[0].ranks) + " (" +
                   groups[0].value + ")");
  }
}

std::string late_text(const LateHost& late) {
  return "by the hosts' clocks, ranks on " + late.host + " began " + duration_text(late.after_ns) +
         " after those on " + late.first_host +
         ": they started late, or the clocks differ and times of the two hosts cannot be compared";
}

void add_job(Document& text, const Job& job) {
  text.paragraph(reported_text(job));
  add_restarts(text, job);
  add_odd_ranks(text, job.builds, "runs another build of the program",
                "run another build of the program");
  add_odd_ranks(text, job.versions, "was recorded by another version of Vramscope",
                "were recorded by another version of Vramscope");
  for (const LateHost& late : job.late) text.paragraph(late_text(late));
}

}  // namespace

std::string ranks_list(const std::vector<std::int64_t>& ranks, std::size_t most) {
  std::vector<std::pair<std::string, std::size_t>> parts;  // with the ranks in each
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    constexpr std::size_t kLeastRange = 3;
    if (end - i < kLeastRange) end = i + 1;
    const std::string first = std::to_string(ranks[i]);
    parts.emplace_back(end - i == 1 ? first : first + " to " + std::to_string(ranks[end - 1]),
                       end - i);
    i = end;
  }
  const std::size_t shown = parts.size() <= most ? parts.size() : most - 1;
  std::size_t left = ranks.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == parts.size() && i != 0;
    text += (i == 0 ? "" : is_last ? " and " : ", ") + parts[i].first;
    left -= parts[i].second;
  }
  if (left != 0) text += " and " + count_text(left) + " more";
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

Document job_text(const std::vector<Job>& jobs) {
  Document text;
  if (jobs.size() > 1) {
    text.paragraph("these are reports of " + count_text(static_cast<std::int64_t>(jobs.size())) +
                   " jobs: sums and medians below are of all of them; --output-folder "
                   "'FOLDER/%j' keeps jobs apart");
  }
  const std::size_t shown = std::min(jobs.size(), kJobsTold);
  for (std::size_t i = 0; i < shown; ++i) add_job(text, jobs[i]);
  if (shown < jobs.size()) text.paragraph("and " + counted(jobs.size() - shown, "more job"));
  return text;
}

Columns<Job> job_columns() {
  using Row = Job;
  const Columns<Restarted> restarted{
      {"rank", "its rank", [](const Restarted& one) { return one.rank; }},
      {"times", "how often, by the launcher", [](const Restarted& one) { return one.times; }}};
  const Columns<RanksWith> with{
      {"value", "build id, or version", [](const RanksWith& one) { return one.value; }},
      {"ranks", "those that have it", &RanksWith::ranks}};
  const Columns<LateHost> late{
      {"hostname", "machine", [](const LateHost& one) { return one.host; }},
      {"first_hostname", "machine whose ranks began first",
       [](const LateHost& one) { return one.first_host; }},
      {"after_ns", "how much later, by the clocks of both; above one minute",
       [](const LateHost& one) { return one.after_ns; }}};
  return {
      {"job", "its name; empty: not known", &Row::name},
      {"launcher", "the program that started the ranks; empty: not known", &Row::launcher},
      {"ranks", "how many it has; `null`: not known", &Row::ranks},
      {"reported", "ranks with a report", &Row::reported},
      {"missing", "ranks without a report, the first 1,024; without `ranks` up to the highest rank",
       &Row::missing},
      {"missing_count", "all of them", [](const Row& row) { return row.missing_count; }},
      {"restarted", "ranks that the launcher restarted", restarted, &Row::restarted},
      {"in_sequence",
       "ranks with processes that ran one after the other, for no restart that is known",
       &Row::in_sequence},
      {"builds", "builds of the program, if they differ", with, &Row::builds},
      {"versions", "versions of Vramscope, if they differ", with, &Row::versions},
      {"late", "machines whose ranks began later than others'", late, &Row::late}};
}

}  // namespace vramscope
