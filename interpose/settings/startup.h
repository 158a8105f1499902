// What is true when the process starts, taken once, before main; and who the process is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/report/facts.h"

namespace vramscope {

struct Startup {
  Options options;
  std::vector<std::string> problems;  // of the settings; said only when CUDA is used
  std::string folder;                 // in which the program started; "" when it has no name
  std::string note_file;              // kNoteVariable: where `vramscope run` reads our names
  std::string runtime_folder;         // the variable XDG_RUNTIME_DIR; "": it is not set
  std::uint64_t start_time_ns = 0;    // since the epoch
  std::int64_t rank = -1;             // that a launcher gave; -1: none
  std::vector<std::pair<std::string, std::string>> environment;  // kept if the pattern asks for it
};

// Taken by the library's constructor, or earlier when a constructor that runs before ours needs it.
// Never destroyed. Read only. Threads: any.
[[nodiscard]] const Startup& startup() noexcept;

// The program uses CUDA for the first time, on the calling thread: a rank that it has given itself
// since its start counts where a launcher gave none.
void note_rank() noexcept;

// The program has more rights than whoever started it (set-user-id, set-group-id, file
// capabilities; getauxval(3), AT_SECURE), so that nothing its environment says may be obeyed. No
// variable is read then, and it is switched off. Threads: any.
[[nodiscard]] bool is_in_secure_execution() noexcept;

// --mode off: no wrapper, no handler, no thread, no report.
[[nodiscard]] bool switched_off() noexcept;

// A variable as it was at the start: the program may change its environment at any time.
[[nodiscard]] char* variable_at_start(const char* name) noexcept;

// Who this process is, now. May throw bad_alloc.
[[nodiscard]] ProcessFacts process_facts();

// Of a report, whether another is to come after it: see expand_pattern().
enum class Word : std::uint8_t { last, interim };

// The file that a pattern names: relative to the folder in which the program started, wherever it
// is now. May throw bad_alloc.
[[nodiscard]] std::string path_of(const std::string& pattern, const ProcessFacts& process,
                                  std::uint64_t sequence, Word word = Word::last);

}  // namespace vramscope
