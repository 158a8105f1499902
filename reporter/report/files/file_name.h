// expand_pattern() makes the name of a report from a pattern.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// Returns what follows the last slash, or the whole path. May throw bad_alloc.
[[nodiscard]] inline std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The values of a pattern's escapes.
struct NameFacts {
  std::int64_t pid = 0;
  std::string hostname;
  std::string executable;  // path or name; %e is what follows the last slash
  std::vector<std::string> arguments =
      {};                        // from the command's name on; if Python runs, %e is its script
  std::int64_t rank = -1;        // negative: the process has none, and %r is 0
  std::int64_t local_rank = -1;  // likewise, of %l
  std::int64_t world_size = -1;  // negative: not known, and %w is 0
  std::int64_t restart = -1;     // likewise, of %a
  std::string job = {};          // %j; "": not known, and %j is "job"
  std::uint64_t sequence = 1;
  bool is_interim = false;          // the process will write another report after this one
  std::uint64_t start_time_ns = 0;  // since the epoch
};

// Returns the script or module that Python runs: "train.py" or "torch.distributed.run". Returns ""
// if another program runs, or if Python reads from a terminal, a pipe or the text of -c.
[[nodiscard]] std::string python_script(std::string_view executable,
                                        const std::vector<std::string>& arguments);

// Returns what %e stands for: that script or module, or else the program's name without folders.
[[nodiscard]] std::string program_name(std::string_view executable,
                                       const std::vector<std::string>& arguments);

// Returns the name that a report should have had: "r.json" for "r.json~1", which it has because the
// name was taken. Returns any other name unchanged. Also works for paths.
[[nodiscard]] std::string_view wanted_name(std::string_view name);

// getenv or a replacement: returns nullptr if the variable is not set.
using EnvironmentLookup = char* (*)(const char* name);

// Replaces in `pattern`: %p process id, %h host, %e program or script, %r rank, %l rank on its
// host, %w number of ranks, %j job, %a number of restarts, %R "rank3", "rank3.restart1" or, without
// a rank, as %e, %n sequence, %t start time (UTC, 20231114T221320), %{VAR} an environment variable
// (nothing if it is not set), %% a percent sign. Slashes and control characters in a value become
// '_', and each value is cut at 100 bytes. If values make a part between slashes empty, "." or
// "..", it becomes underscores, so a value never leads to another folder. Other text behind a
// percent sign is unchanged. If the pattern has no %n, interim reports get ".1", ".2" before a
// final ".json", or at the end: the requested name belongs to the last report of the process. May
// throw bad_alloc.
[[nodiscard]] std::string expand_pattern(std::string_view pattern, const NameFacts& facts,
                                         EnvironmentLookup environment);

// Returns the first escape in `pattern` that expand_pattern() leaves unchanged, or "".
[[nodiscard]] std::string_view unknown_escape(std::string_view pattern) noexcept;
// The escapes that expand_pattern() knows, for messages.
inline constexpr std::string_view kEscapes =
    "%e, %p, %h, %r, %R, %l, %w, %j, %a, %n, %t, %{VAR} and %%";

}  // namespace vramscope
