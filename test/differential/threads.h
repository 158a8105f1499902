// The threads of a sequence: each line runs on its thread, one after the other or some together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace vramscope::differential {

struct Job {
  int thread = 0;
  std::function<void()> work;
};

// On the calling thread when it is thread 0. Threads begin with their first job and never end.
void run_alone(const Job& job);
// Jobs of one thread in their order; threads at the same time.
void run_together(const std::vector<Job>& jobs);

}  // namespace vramscope::differential
