// place_in_job() reads from the variables of launchers which rank of which job a process is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "reporter/report/files/file_name.h"

namespace vramscope {

// A process's place in a job of several. Numbers are -1 and texts "" if they are not known.
struct JobPlace {
  std::string launcher = {};  // a name of launchers.def; "": no launcher gave a rank
  std::int64_t rank = -1;
  std::int64_t local_rank = -1;  // on its host
  std::int64_t world_size = -1;  // how many ranks the job has
  std::string job = {};          // the launcher's or the scheduler's name of the job
  std::int64_t restart = -1;     // how often the launcher had restarted the job or the rank
};

// May throw bad_alloc.
[[nodiscard]] JobPlace place_in_job(EnvironmentLookup environment);

}  // namespace vramscope
