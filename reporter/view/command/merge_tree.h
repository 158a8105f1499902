// merge_tree() prints the commands that merge many reports in two steps, the first one on several
// processors or machines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/command/merged_input.h"

namespace vramscope {

struct TreeOf {
  std::size_t parts = 0;
  std::string output;              // of the last step
  std::vector<std::string> files;  // as typed
};

// For the launcher that is found: srun in an allocation of Slurm, else mpirun, else the processors
// of this machine. Lines of a shell.
[[nodiscard]] std::string merge_tree(const TreeOf& of);

// "3/32": the fourth of 32 parts. `first` and `of` stay as they are if it is none.
[[nodiscard]] bool read_part(const std::string& word, Part& part);
// "", or why it is none.
[[nodiscard]] std::string no_part(const std::string& word);

}  // namespace vramscope
