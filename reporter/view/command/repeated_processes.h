// drop_repeated_processes() leaves out, of reports whose numbers are to be added up, those that
// would count a process again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "reporter/report/merged_process.h"

namespace vramscope {

// Which process wrote the report in a file, and when: what stands at its beginning.
struct WrittenBy {
  ProcessIdentity who = {};
  std::uint64_t sequence = 0;
  std::uint64_t report_time_ns = 0;
  // False: it is no report of one process, or somebody formatted it anew.
  [[nodiscard]] bool is_known() const { return std::get<1>(who) != 0; }
};
[[nodiscard]] WrittenBy written_by(const std::string& path);

// Of several reports of one process the last one stays, by sequence. Of one that was merged and the
// reports that it was made of, these stay if they are all there, else the merged one in the place
// of those that are. Merged ones that have some processes in common, and each others besides, all
// stay. `tell` is told how many are left out. Reads no more of a file than tells whose report it
// is; one that somebody formatted anew stands for itself. May throw bad_alloc.
void drop_repeated_processes(std::vector<std::string>& paths,
                             const std::function<void(std::string_view)>& tell);

// For those who tell of memory that ran out: of several reports of one process the last of those
// that know of the most refusals stays, which tells all that the others do. `tell` is told how
// many are left out. Reads as little, and may throw bad_alloc.
void keep_refusals_once(std::vector<std::string>& paths,
                        const std::function<void(std::string_view)>& tell);

}  // namespace vramscope
