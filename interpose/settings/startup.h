// Startup holds the state when the process starts, read once before main, and identifies the
// process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/report/facts.h"
#include "reporter/report/launcher.h"
#include "reporter/report/live/attach_file.h"

namespace vramscope {

struct Startup {
  Options options;
  std::vector<std::string> problems;  // of the settings; printed only when CUDA is used
  std::string folder;                 // in which the program started; "" if it has no path
  std::string note_file;              // kNoteVariable: where `vramscope run` reads our files' names
  std::string runtime_folder;         // the variable XDG_RUNTIME_DIR; "": it is not set
  bool is_attached = false;           // by vramscope attach, which left settings for it
  std::vector<HeldBefore> held_before;  // then, of its GPUs, as far as that is known
  std::uint64_t start_time_ns = 0;      // nanoseconds since the epoch
  JobPlace place;                       // in a job, by a launcher
  std::vector<std::pair<std::string, std::string>>
      environment;  // kept if the report pattern uses it
};

// Read by the library's constructor, or earlier if a constructor that runs before ours needs it.
// Never destroyed. Read only. Threads: any.
[[nodiscard]] const Startup& startup() noexcept;

// Notes the place in a job at the program's first use of CUDA, on the calling thread. A rank that
// the program has set since its start counts if a launcher gave none.
void note_place() noexcept;

// Whether the program has more rights than its caller (set-user-id, set-group-id, file
// capabilities; getauxval(3), AT_SECURE), so that its environment must not be trusted. Then no
// variable is read, and Vramscope is switched off. Threads: any.
[[nodiscard]] bool is_in_secure_execution() noexcept;

// Whether the mode is off: no wrapper, no handler, no thread, no report.
[[nodiscard]] bool switched_off() noexcept;

// Whether the program's own searches find this library, or another copy of it, as with LD_PRELOAD.
[[nodiscard]] bool is_in_program() noexcept;

// How this library came into the program.
enum class WayIn : std::uint8_t {
  with_program,  // LD_PRELOAD, or the program links it: the loader finds our symbols first
  by_driver,     // CUDA_INJECTION64_PATH (life/late_entry.h)
  attached       // vramscope attach
};
[[nodiscard]] WayIn way_in() noexcept;
// Notes another way than the first, and makes `observe` the mode. Call it before the program is
// recorded, on one thread.
void note_way_in(WayIn way) noexcept;
// Whether the loader finds our symbols first. Threads: any.
[[nodiscard]] inline bool comes_first() noexcept { return way_in() == WayIn::with_program; }

// Returns a variable as it was at the start, since the program may change its environment.
[[nodiscard]] char* variable_at_start(const char* name) noexcept;

// Returns the current facts of this process. May throw bad_alloc.
[[nodiscard]] ProcessFacts process_facts();

// Whether another report will follow: see expand_pattern().
enum class Word : std::uint8_t { last, interim };

// Returns the file that a pattern names, relative to the folder in which the program started. May
// throw bad_alloc.
[[nodiscard]] std::string path_of(const std::string& pattern, const ProcessFacts& process,
                                  std::uint64_t sequence, Word word = Word::last);

}  // namespace vramscope
