// A sequence of driver calls as text, one call a line: what a seed makes, what runs, what is kept.
// SPDX-License-Identifier: Apache-2.0
//
//     # a comment
//     sim devices=2,delay_us=300      how the simulated device is set up; first, at most once
//     t0 alloc a3 4096 @proc          thread, verb, words, and which way the function is found
//     & t1 alloc a1 512               lines with & that follow each other run at the same time
//     q1 ipc_open i0 k2               a line for another process, started before the first call
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope::differential {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// How a call's function is found, as programs and runtimes do.
enum class Way : unsigned char {
  linked,        // by the loader
  dlsym,         // in the driver's handle
  proc,          // cuGetProcAddress for the version that introduced the function
  later,         // the same for the last version before the next of that name
  dlsym_thread,  // the flavours for per-thread default streams
  proc_thread,
};
inline constexpr std::string_view kWays[] = {"",       "@dlsym",        "@proc",
                                             "@later", "@dlsym_thread", "@proc_thread"};

struct Line {
  bool together = false;  // with its neighbours that are, in any order
  int process = 0;        // 0: the program; else another one, of one thread
  int thread = 0;         // 0: the main thread
  std::string verb;
  std::vector<std::string> words;
  Way way = Way::linked;
};

struct Sequence {
  std::string simulator;  // for VRAMSCOPE_SIM; "shared" alone stands for a name of its own
  std::vector<std::string> comments;
  std::vector<Line> lines;
};

[[nodiscard]] std::string text_of(const Line& line);
[[nodiscard]] std::string text_of(const Sequence& sequence);
// Throws std::runtime_error with the number of a line that it cannot read.
[[nodiscard]] Sequence read_sequence(std::string_view text);
[[nodiscard]] Sequence read_sequence_file(const std::string& path);

}  // namespace vramscope::differential
