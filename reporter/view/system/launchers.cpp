// Knows launchers by their names and options.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/launchers.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "reporter/view/system/host.h"

namespace vramscope {
namespace {

using Words = std::vector<std::string>;

template <std::size_t kCount>
bool is_among(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

char* variable(const char* name) { return std::getenv(name); }

// Whether each of "node1:8,localhost" is this host.
bool are_all_here(std::string_view hosts) {
  while (!hosts.empty()) {
    const std::string_view one = hosts.substr(0, hosts.find(','));
    const std::string_view name = one.substr(0, one.find(':'));
    if (name != "localhost" && name != "127.0.0.1" && name != this_host()) return false;
    hosts.remove_prefix(std::min(one.size() + 1, hosts.size()));
  }
  return true;
}

bool has_several_nodes() {
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
    const char* const nodes = variable(name);
    if (nodes != nullptr && std::strtol(nodes, nullptr, 10) > 1) return true;
  }
  return false;
}

// Whether mpirun's options name other hosts, or a file of hosts.
bool names_other_hosts(const Words& program) {
  constexpr std::array<std::string_view, 5> kHosts = {"-H", "-host", "--host", "-hosts", "--hosts"};
  constexpr std::array<std::string_view, 5> kFiles = {"-hostfile", "--hostfile", "-machinefile",
                                                      "--machinefile", "-f"};
  for (std::size_t i = 1; i + 1 < program.size(); ++i) {
    if (is_among(program[i], kFiles)) return true;
    if (is_among(program[i], kHosts) && !are_all_here(program[i + 1])) return true;
  }
  return false;
}

std::string put_behind(const std::string& launcher, const std::string& example) {
  return "put run behind it: " + launcher + " " + example;
}

}  // namespace

std::string starts_elsewhere(const Words& program) {
  constexpr std::array<std::string_view, 5> kMpi = {"mpirun", "mpiexec", "orterun", "prterun",
                                                    "mpiexec.hydra"};
  constexpr std::array<std::string_view, 4> kShells = {"ssh", "pdsh", "clush", "parallel-ssh"};
  constexpr std::array<std::string_view, 3> kBatch = {"sbatch", "qsub", "bsub"};
  constexpr std::array<std::string_view, 3> kContainers = {"docker", "podman", "kubectl"};
  if (program.empty()) return "";
  const std::string name = program[0].substr(program[0].rfind('/') + 1);
  const bool is_mpi = is_among(name, kMpi) || name.starts_with("mpirun.");
  if (is_mpi && (has_several_nodes() || names_other_hosts(program))) {
    return name + " starts ranks on other hosts, which this run does not record; " +
           put_behind(name, "... vramscope run PROGRAM");
  }
  if (name == "srun" && has_several_nodes()) {
    return "srun starts ranks on other hosts, where nobody recovers what a killed rank leaves; " +
           put_behind(name, "... vramscope run PROGRAM");
  }
  if (is_among(name, kShells)) {
    return name + " starts the program on another machine, which this run does not record; " +
           put_behind(name, "HOST vramscope run PROGRAM");
  }
  if (is_among(name, kBatch)) {
    return name +
           " starts the script later and elsewhere; put run into the script, before the "
           "program or behind its launcher";
  }
  if (is_among(name, kContainers)) {
    return name + " starts the program outside of this process, which this run does not record; " +
           put_behind(name, "... IMAGE vramscope run PROGRAM");
  }
  const bool is_ray_job = name == "ray" && program.size() > 2 && program[1] == "job";
  if (is_ray_job) {
    return "ray job starts the program in the cluster's workers, which this run does not record; "
           "start these with it: vramscope run ray start ...";
  }
  return "";
}

JobPlace place_among_ranks() {
  JobPlace place = place_in_job(variable);
  // Loops and pods have a terminal, or a log, for each rank.
  const bool has_own_output = place.launcher == "RANK" || place.launcher == "Kubernetes";
  return place.world_size > 1 && !has_own_output ? place : JobPlace();
}

}  // namespace vramscope
