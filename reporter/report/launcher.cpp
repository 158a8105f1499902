// Goes through the rows of launchers.def.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/launcher.h"

#include <charconv>
#include <string_view>

namespace vramscope {
namespace {

struct Row {
  const char *name, *mark, *rank, *local_rank, *world_size, *job, *restart;
};

constexpr Row kRows[] = {
#define LAUNCHER(name, mark, rank, local_rank, world_size, job, restart) \
  {name, mark, rank, local_rank, world_size, job, restart},
#include "reporter/report/launchers.def"
#undef LAUNCHER
};

// Of a job whose launcher has no name for it: the scheduler's.
constexpr const char* kSchedulers[] = {"PBS_JOBID", "LSB_JOBID", "RAY_JOB_ID"};

class Variables {
 public:
  explicit Variables(EnvironmentLookup environment) : environment_(environment) {}

  [[nodiscard]] std::string_view text(const char* name) const {
    const char* const value = *name == '\0' ? nullptr : environment_(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
  }
  [[nodiscard]] std::int64_t number(const char* name) const {
    const std::string_view digits = text(name);
    std::int64_t value = -1;
    const char* const end = digits.data() + digits.size();
    const auto got = std::from_chars(digits.data(), end, value);
    return !digits.empty() && got.ec == std::errc() && got.ptr == end && value >= 0 ? value : -1;
  }

 private:
  const EnvironmentLookup environment_;
};

// What torchrun says if nobody named the job, and Ray 2.60 in a worker that it started beforehand.
bool is_no_name(std::string_view job) { return job == "none" || job == "ffffffff"; }

// "4711.0" of a step of Slurm's: several of one job may run at a time.
std::string slurm_job(const Variables& variables) {
  const std::string job(variables.text("SLURM_JOB_ID"));
  const std::string_view step = variables.text("SLURM_STEP_ID");
  return job.empty() || step.empty() ? job : job + "." + std::string(step);
}

std::string job_of(const Row& row, const Variables& variables) {
  const std::string_view own = variables.text(row.job);
  if (!own.empty() && !is_no_name(own)) return std::string(own);
  std::string job = slurm_job(variables);
  for (const char* name : kSchedulers) {
    if (job.empty() && !is_no_name(variables.text(name))) job = variables.text(name);
  }
  return job;
}

}  // namespace

JobPlace place_in_job(EnvironmentLookup environment) {
  const Variables variables(environment);
  for (const Row& row : kRows) {
    const bool is_marked = *row.mark == '\0' || !variables.text(row.mark).empty();
    const std::int64_t rank = variables.number(row.rank);
    if (!is_marked || rank < 0) continue;
    return {.launcher = row.name,
            .rank = rank,
            .local_rank = variables.number(row.local_rank),
            .world_size = variables.number(row.world_size),
            .job = job_of(row, variables),
            .restart = variables.number(row.restart)};
  }
  return {};
}

}  // namespace vramscope
