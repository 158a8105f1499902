// A process's place in a job, by the variables of launchers.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/launcher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace vramscope {
namespace {

using Set = std::map<std::string, std::string>;
Set set;

char* variable(const char* name) {
  const auto found = set.find(name);
  return found == set.end() ? nullptr : found->second.data();
}

JobPlace place(const Set& variables) {
  set = variables;
  return place_in_job(variable);
}

std::string text(const JobPlace& of) {
  return of.launcher + " rank " + std::to_string(of.rank) + " local " +
         std::to_string(of.local_rank) + " of " + std::to_string(of.world_size) + " job " + of.job +
         " restart " + std::to_string(of.restart);
}

TEST(Launcher, IsNoneWithoutVariables) { EXPECT_EQ(text(place({})), text(JobPlace())); }

TEST(Launcher, IsFoundByItsVariables) {
  EXPECT_EQ(text(place({{"OMPI_COMM_WORLD_RANK", "3"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "8"},
                        {"PMIX_RANK", "3"},
                        {"PMIX_NAMESPACE", "1234567"}})),
            "Open MPI rank 3 local 1 of 8 job 1234567 restart -1");
  EXPECT_EQ(text(place({{"PMI_RANK", "5"}, {"PMI_SIZE", "6"}, {"MPI_LOCALRANKID", "2"}})),
            "MPICH rank 5 local 2 of 6 job  restart -1");
  EXPECT_EQ(text(place({{"SLURM_PROCID", "7"},
                        {"SLURM_LOCALID", "3"},
                        {"SLURM_STEP_NUM_TASKS", "16"},
                        {"SLURM_JOB_ID", "4711"},
                        {"SLURM_STEP_ID", "0"},
                        {"SLURM_RESTART_COUNT", "1"}})),
            "Slurm rank 7 local 3 of 16 job 4711.0 restart 1");
  EXPECT_EQ(text(place({{"JOB_COMPLETION_INDEX", "2"}, {"WORLD_SIZE", "4"}})),
            "Kubernetes rank 2 local -1 of 4 job  restart -1");
  EXPECT_EQ(text(place({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"RAY_JOB_ID", "02000000"}})),
            "RANK rank 1 local -1 of 2 job 02000000 restart -1");
}

TEST(Launcher, OfARankIsTheInnermost) {
  // One task of srun on each node, in which torchrun starts the ranks.
  const Set node = {{"SLURM_PROCID", "1"}, {"PMIX_RANK", "1"},     {"SLURM_LOCALID", "0"},
                    {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "2"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  Set rank = node;
  rank.insert({{"RANK", "5"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "8"}});
  EXPECT_EQ(text(place(rank)), "RANK rank 5 local 1 of 8 job 9.2 restart -1");

  rank.insert({{"TORCHELASTIC_RUN_ID", "none"}, {"TORCHELASTIC_RESTART_COUNT", "2"}});
  EXPECT_EQ(text(place(rank)), "torchrun rank 5 local 1 of 8 job 9.2 restart 2");

  EXPECT_EQ(place({{"RANK", "1"}, {"RAY_JOB_ID", "ffffffff"}}).job, "");

  rank["TORCHELASTIC_RUN_ID"] = "llama";
  EXPECT_EQ(place(rank).job, "llama");
}

TEST(Launcher, OfABatchScriptTellsNoWorldSize) {
  // Its one process has the variables of the whole allocation.
  const JobPlace script =
      place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "9"}});
  EXPECT_EQ(text(script), "Slurm rank 0 local -1 of -1 job 9 restart -1");
}

TEST(Launcher, TakesNoWordForANumber) {
  EXPECT_EQ(place({{"RANK", "three"}}).rank, -1);
  EXPECT_EQ(place({{"RANK", "-3"}}).rank, -1);
  EXPECT_EQ(place({{"RANK", "3x"}, {"SLURM_PROCID", "4"}}).rank, 4);
  EXPECT_EQ(place({{"RANK", "99999999999999999999"}}).rank, -1);
  EXPECT_EQ(place({{"RANK", "1"}, {"WORLD_SIZE", "many"}}).world_size, -1);
}

}  // namespace
}  // namespace vramscope
