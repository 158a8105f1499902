// jobs_of() tells of the jobs to which processes belong: who is missing, who began anew, and which
// ranks do not fit the others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/process_figures.h"

namespace vramscope {

struct Restarted {
  std::int64_t rank = 0;
  std::int64_t times = 0;
};

// What ranks have in common, such as a build: "3f2a9c", and the ranks that have it.
struct RanksWith {
  std::string value;
  std::vector<std::int64_t> ranks;  // ascending, each once
};

// A host whose ranks began later than those of the first host, by the clocks of both.
struct LateHost {
  std::string host;
  std::string first_host;
  std::uint64_t after_ns = 0;
};

// The ranks of one job. A process without a rank belongs to none.
struct Job {
  std::string name = {};                    // "": not known
  std::string launcher = {};                // the same
  std::optional<std::int64_t> ranks = {};   // how many it has; nothing: not known
  std::vector<std::int64_t> reported = {};  // ascending, each once
  std::vector<std::int64_t> missing = {};   // without any report, the first kMostMissing
  std::size_t missing_count = 0;            // all of them
  std::vector<Restarted> restarted = {};    // by rank
  std::vector<std::int64_t> in_sequence =
      {};                              // ranks with a report of a process that began after another
                                       // one of theirs had ended, for no restart that is known
  std::vector<RanksWith> builds = {};  // of the executable, if there are several
  std::vector<RanksWith> versions = {};  // of Vramscope, likewise
  std::vector<LateHost> late = {};       // more than a minute
};
inline constexpr std::size_t kMostMissing = 1024;

// By name. May throw bad_alloc.
[[nodiscard]] std::vector<Job> jobs_of(const std::vector<ReportOfProcess>& reports);

}  // namespace vramscope
