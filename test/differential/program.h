// Runs a sequence as the program that it describes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "test/differential/sequence.h"

namespace vramscope::differential {

struct Setting {
  std::string mode;    // ours, empty without us
  std::string folder;  // where reports appear
};

// Prints one line a call, "NUMBER RESULT", to standard output. Before the first call of CUDA in
// this process. Ends the process in the sequence's way, or returns its exit status.
[[nodiscard]] int run_program(const Sequence& sequence, const Setting& setting);

}  // namespace vramscope::differential
