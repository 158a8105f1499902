// expand_pattern() makes the name of a report from a pattern.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// What follows the last slash, or all of it. May throw bad_alloc.
[[nodiscard]] inline std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// What a pattern may ask for.
struct NameFacts {
  std::int64_t pid = 0;
  std::string hostname;
  std::string executable;  // path or name; %e is what follows the last slash
  std::vector<std::string> arguments =
      {};                  // from the command's name on; where Python runs, %e is its script
  std::int64_t rank = -1;  // negative: the process has none, and %r is 0
  std::uint64_t sequence = 1;
  bool is_interim = false;          // a report after which the process is to write another
  std::uint64_t start_time_ns = 0;  // since the epoch
};

// The script or module that Python runs, "train.py" or "torch.distributed.run"; "" where another
// program runs, or none is named: it reads from a terminal or a pipe, or was given a text by -c.
[[nodiscard]] std::string python_script(std::string_view executable,
                                        const std::vector<std::string>& arguments);

// The name that a report was to have: "r.json" of "r.json~1", which it has where that was taken;
// else the name itself. Of paths, too.
[[nodiscard]] std::string_view wanted_name(std::string_view name);

// getenv, or a stand-in: nullptr when the variable is not set.
using EnvironmentLookup = char* (*)(const char* name);

// Replaces in `pattern`: %p process id, %h host, %e program or script, %r rank, %n sequence, %t
// start time (UTC, 20231114T221320), %{VAR} an environment variable (nothing when it is not set),
// %% a percent sign. Slashes and control characters in what is filled in become '_', and each is
// cut at 100 bytes. A part between slashes that they leave empty, "." or ".." becomes underscores:
// a value leads to no other folder. Anything else behind a percent sign stays as it is. When the
// pattern has no %n, interim reports get ".1", ".2" before a final ".json", else at the end: the
// name that was asked for belongs to the last word on the process. May throw bad_alloc.
[[nodiscard]] std::string expand_pattern(std::string_view pattern, const NameFacts& facts,
                                         EnvironmentLookup environment);

// The first escape of `pattern` that expand_pattern() would leave as it is, "" when there is none.
[[nodiscard]] std::string_view unknown_escape(std::string_view pattern) noexcept;
// All escapes that it knows, for a person.
inline constexpr std::string_view kEscapes = "%e, %p, %h, %r, %n, %t, %{VAR} and %%";

}  // namespace vramscope
