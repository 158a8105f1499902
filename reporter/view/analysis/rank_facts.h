// rank_facts_of() takes from a process's own report what a merged one does not keep apart: memory
// in each step of the program, and of each communication library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramscope {

struct Report;

struct NamedBytes {
  std::string name;
  std::uint64_t bytes = 0;
};

struct RankFacts {
  // From one mark to the next, named by the first ("step#3" where a name is set several times): the
  // most memory of all devices in that time, as the timeline's buckets tell, all kinds added up.
  std::vector<NamedBytes> marks = {};
  // Of each NVTX range: the most that was allocated in it and live, all kinds added up.
  std::vector<NamedBytes> ranges = {};
  // Of each communication library: the most memory that it held, all kinds added up.
  std::vector<NamedBytes> libraries = {};
};

// Of a report of one process; of a merged one nothing. May throw bad_alloc.
[[nodiscard]] RankFacts rank_facts_of(const Report& report);

}  // namespace vramscope
