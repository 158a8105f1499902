// What is above a baseline, and which places grew.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/diff/diff.h"
#include "reporter/view/analysis/diff/other_gpus.h"
#include "reporter/view/analysis/diff/same_gpus.h"
#include "reporter/view/analysis/leaks/leak_holders.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/text/checks.h"
#include "reporter/view/text/other_gpus_text.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

std::uint64_t allowed(std::uint64_t baseline, std::uint64_t percent) {
  return baseline + baseline / 100 * percent + baseline % 100 * percent / 100;
}

template <class Wanted>
std::vector<CheckedSite> grown_sites(const Differences& found, Wanted wanted) {
  std::vector<CheckedSite> sites;
  for (const Difference& row : found.rows) {
    if (row.change() <= 0 || !wanted(row)) continue;
    sites.push_back({row.change(), row.after.frames, row.after.sites, row.after.callers});
  }
  return sites;
}

// What grew of the places that are leaks.
std::vector<CheckedSite> grown_leaks(const Report& report, const Report& baseline,
                                     const Leaks& leaks, const NameFrame& name) {
  std::set<std::int64_t> leaked;
  for (const Leak& leak : leaks.leaks) leaked.insert(site_number(report, leak.share.site));
  const auto is_leak = [&](const Difference& row) {
    return std::any_of(row.after.sites.begin(), row.after.sites.end(),
                       [&](std::int64_t site) { return leaked.contains(site); });
  };
  return grown_sites(differences(baseline, report, DiffBy::site, DiffAt::end, name), is_leak);
}

using ByRank = std::map<std::int64_t, MergedProcess>;

// Empty where some have none, or one rank is there twice.
ByRank processes_by_rank(const Report& report) {
  ByRank processes;
  std::size_t count = 0;
  for (MergedProcess& process : merged_processes(report)) {
    const std::int64_t rank = process.process.rank;
    if (rank < 0) return {};
    processes.emplace(rank, std::move(process));
    ++count;
  }
  return processes.size() == count ? processes : ByRank();
}

// By their own reports; empty where one of these is not there.
std::vector<CheckedSite> grown_in(const ReportOfProcess& before, const ReportOfProcess& after,
                                  std::uint16_t device, const RunsNaming& naming) {
  std::optional<Report> first = read_own(before, naming);
  const std::optional<Report> second = first ? read_own(after, naming) : std::nullopt;
  if (!second) return {};
  number_gpus_as_in(*second, *first);
  const Differences found = differences(*first, *second, DiffBy::site, DiffAt::peak, naming.name);
  return grown_sites(found, [&](const Difference& row) {
    return takes_device_memory(row.kind) && row.device == device;
  });
}

// Returns the sum of the same GPU, which is the GPU of the same number where the other process had
// none with its UUID; null: there is none.
const DeviceSum* same_gpu(const DeviceSum& sum, const std::vector<DeviceSum>& others) {
  const auto find = [&](auto&& is_it) {
    const auto found = std::find_if(others.begin(), others.end(), is_it);
    return found == others.end() ? nullptr : &*found;
  };
  const DeviceSum* const same =
      find([&](const DeviceSum& other) { return !sum.uuid.empty() && other.uuid == sum.uuid; });
  if (same != nullptr) return same;
  return find([&](const DeviceSum& other) { return other.ordinal == sum.ordinal; });
}

// Each rank with the same rank of the baseline: sums do not tell what one of them grew by where
// another shrank.
void add_peaks_of_ranks(std::vector<Check>& checks, const Report& report, const Report& baseline,
                        const std::string& file, std::uint64_t tolerance_percent,
                        const RunsNaming& naming) {
  const ByRank before = processes_by_rank(baseline);
  for (const auto& [rank, process] : processes_by_rank(report)) {
    const auto known = before.find(rank);
    if (known == before.end()) continue;
    const std::vector<DeviceSum> sums_before = device_sums({known->second});
    for (const DeviceSum& sum : device_sums({process})) {
      const DeviceSum* const was = same_gpu(sum, sums_before);
      const std::uint64_t peak = was == nullptr ? 0 : was->upper;
      Check check{.what = "peak of " + sum.label,
                  .value = sum.upper,
                  .limit = allowed(peak, tolerance_percent),
                  .baseline = peak,
                  .process = checked_process(process.process)};
      if (sum.lower != sum.upper) check.at_least = sum.lower;
      check.adds_kinds = has_several_kinds(process, sum.index);
      if (check.adds_kinds) check.what += ", all kinds together";
      if (!check.passed()) {
        check.sites =
            grown_in({.file = baseline.file, .process = known->second, .is_merged = true},
                     {.file = file, .process = process, .is_merged = true}, sum.ordinal, naming);
      }
      checks.push_back(std::move(check));
    }
  }
}

struct ReportWithLeaks {
  const Report& report;
  const Leaks& leaks;
};

// By rank, index into the processes; empty where some have none, one is there twice, or the report
// does not tell what each left.
std::map<std::int64_t, std::size_t> left_by_rank(const ReportWithLeaks& of) {
  std::map<std::int64_t, std::size_t> ranks;
  for (std::size_t i = 0; i < of.leaks.left.size(); ++i) {
    const std::int64_t rank = of.report.processes[i].process.rank;
    if (rank < 0 || !ranks.emplace(rank, i).second) return {};
  }
  return ranks;
}

// What one rank left more may be what another left less.
void add_leaks_of_ranks(std::vector<Check>& checks, const ReportWithLeaks& after,
                        const ReportWithLeaks& before, std::uint64_t tolerance_percent,
                        const NameFrame& name) {
  const std::map<std::int64_t, std::size_t> known = left_by_rank(before);
  for (const auto& [rank, index] : left_by_rank(after)) {
    const auto found = known.find(rank);
    if (found == known.end()) continue;
    // What is sure to be above what was left before at most.
    const std::uint64_t left = before.leaks.left[found->second].most;
    const MergedProcess& process = after.report.processes[index];
    Check check{.what = "never freed",
                .value = after.leaks.left[index].least,
                .limit = allowed(left, tolerance_percent),
                .baseline = left,
                .process = checked_process(process.process),
                .died = who_died({process})};
    if (!check.passed()) check.sites = leaked_sites(after.report, after.leaks, index, name);
    checks.push_back(std::move(check));
  }
}

// "The baseline has 8 processes, this 7 (rank 5 is missing): ..."; "" where there are as many.
std::string other_processes(const Report& report, const Report& baseline) {
  const std::size_t before = std::max<std::size_t>(baseline.processes.size(), 1);
  const std::size_t now = std::max<std::size_t>(report.processes.size(), 1);
  if (before == now) return "";
  constexpr std::size_t kNamed = 4;
  const ByRank here = processes_by_rank(report);
  std::string missing;
  std::size_t count = 0;
  for (const auto& [rank, process] : processes_by_rank(baseline)) {
    if (here.empty() || here.contains(rank)) continue;
    if (count < kNamed) missing += (count == 0 ? "" : ", ") + std::to_string(rank);
    ++count;
  }
  if (count > kNamed) missing += " and " + count_text(count - kNamed) + " more";
  if (count != 0) {
    missing = (count == 1 ? " (rank " : " (ranks ") + missing + (count == 1 ? " is" : " are") +
              " missing)";
  }
  return "The baseline has " + std::to_string(before) +
         (before == 1 ? " process, this " : " processes, this ") + std::to_string(now) + missing +
         ": sums differ for that alone.";
}

std::set<std::string> programs_of(const Report& report) {
  std::set<std::string> programs;
  for (const MergedProcess& process : merged_processes(report)) {
    const std::string program = program_of(process.process);
    if (!program.empty()) programs.insert(program);
  }
  return programs;
}

// "The baseline is of train.py, this of serve.py."; "" where a program is in both, or unknown.
std::string other_program(const Report& report, const Report& baseline) {
  const std::set<std::string> before = programs_of(baseline);
  const std::set<std::string> now = programs_of(report);
  const auto is_in_both = [&](const std::string& program) { return before.contains(program); };
  if (before.empty() || now.empty() || std::any_of(now.begin(), now.end(), is_in_both)) return "";
  return "The baseline is of " + *before.begin() + ", this of " + *now.begin() + ".";
}

void add_peaks(std::vector<Check>& checks, const Report& report, const Report& baseline,
               std::uint64_t tolerance_percent, const NameFrame& name) {
  const Differences found = differences(baseline, report, DiffBy::site, DiffAt::peak, name);
  const bool is_choice = report.chosen && report.chosen->by_rows;
  const bool adds = is_of_several(report) || is_of_several(baseline);
  const auto add = [&](const std::string& memory, bool is_of_one_instant, std::uint64_t value,
                       std::uint64_t before, const auto& is_its) {
    const std::string word = adds || !is_of_one_instant ? "sum of peaks of "
                             : is_choice                ? "at the peak of "
                                                        : "peak of ";
    Check check{.what = word + memory,
                .value = value,
                .limit = allowed(before, tolerance_percent),
                .baseline = before,
                .process = all_processes(report)};
    if (!check.passed()) check.sites = grown_sites(found, is_its);
    checks.push_back(std::move(check));
  };
  for (const MemorySum& sum : found.sums) {
    if (!sum.is_of_device) continue;
    const auto is_its = [&](const Difference& row) {
      return takes_device_memory(row.kind) && row.device == sum.device;
    };
    const bool are_several = sum.kinds > 1;
    add(sum.gpu + (are_several ? ", all kinds together" : ""), sum.is_of_one_instant, sum.after,
        sum.before, is_its);
    checks.back().adds_kinds = are_several;
    for (const Difference& kind : found.memory) {
      if (!are_several || !is_its(kind)) continue;
      checks.back().kinds.push_back({kind.kind, kind.memory, kind.after.bytes, kind.before.bytes});
    }
  }
  for (const Difference& memory : found.memory) {
    if (takes_device_memory(memory.kind)) continue;
    add(memory.memory, /*is_of_one_instant=*/true, memory.after.bytes, memory.before.bytes,
        [&](const Difference& row) {
          return row.kind == memory.kind && row.device == memory.device;
        });
  }
}

}  // namespace

Checked checks_against(const Report& report, const Report& baseline, const std::string& file,
                       std::uint64_t tolerance_percent, const Suppressions& suppressions,
                       const RunsNaming& naming) {
  const NameFrame& name = naming.name;
  Checked checked{.file = file, .next = "", .checks = {}};
  checked.processes = std::max<std::size_t>(report.processes.size(), 1);
  const bool is_choice = report.chosen && report.chosen->by_rows;
  add_peaks(checked.checks, report, baseline, tolerance_percent, name);
  if (is_of_several(report) && !is_choice) {
    add_peaks_of_ranks(checked.checks, report, baseline, file, tolerance_percent, naming);
  }
  checked.together = other_program(report, baseline);
  const std::string gpus = other_gpus_text(other_gpus(baseline, report));
  for (const std::string& sentence : {other_processes(report, baseline), gpus}) {
    if (!checked.together.empty() && !sentence.empty()) checked.together += " ";
    checked.together += sentence;
  }
  const Leaks leaks_before = leaks_of(baseline, suppressions, name);
  const std::uint64_t leaked = leaked_bytes(leaks_before);
  const Leaks leaks = leaks_of(report, suppressions, name);
  Check check{.what = "never freed",
              .value = leaked_bytes(leaks),
              .limit = allowed(leaked, tolerance_percent),
              .baseline = leaked,
              .process = all_processes(report),
              .died = who_died(merged_processes(report))};
  if (!check.passed()) check.sites = grown_leaks(report, baseline, leaks, name);
  checked.suppressed = suppressed_bytes(leaks);
  checked.cached = cached_bytes(leaks);
  checked.checks.push_back(std::move(check));
  if (!is_choice) {
    add_leaks_of_ranks(checked.checks, {report, leaks}, {baseline, leaks_before}, tolerance_percent,
                       name);
  }
  return checked;
}

}  // namespace vramscope
