// What is true when the process starts: taken once, before main.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interpose/options.h"
#include "reporter/report/report.h"

namespace vramscope {

struct Startup {
  Options options;
  std::vector<std::string> problems;  // of the settings; said only when CUDA is used
  std::string folder;                 // in which the program started; "" when it has no name
  std::string note_file;              // VRAMSCOPE_NOTE_FILE: where `vramscope run` reads our names
  std::uint64_t start_time_ns = 0;    // since the epoch
};

// Valid from the library's constructor on; defaults before it. Read only.
[[nodiscard]] const Startup& startup() noexcept;

// Who this process is, now. May throw bad_alloc.
[[nodiscard]] ProcessFacts process_facts();

}  // namespace vramscope
