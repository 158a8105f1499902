// rank_facts_of() takes from a process's own report what a merged one does not keep apart: memory
// in each step of the program, and of each communication library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"

namespace vramscope {

struct NamedInstant;
struct Report;

// Where a number is from. timeline: buckets, whose sum over kinds and devices is a bound. report:
// what the process counted at each call. trace: exactly. mixed: of several processes, the traces of
// some.
#define VRAMSCOPE_BYTES_FROM(X) X(timeline) X(report) X(trace) X(mixed)
VRAMSCOPE_NAMED_ENUM(BytesFrom, std::uint8_t, VRAMSCOPE_BYTES_FROM);

struct NamedBytes {
  std::string name;
  std::uint64_t bytes = 0;
  BytesFrom from = BytesFrom::report;
  bool is_exact = false;  // false: an upper bound, or rough
};

struct RankFacts {
  // From one mark to the next, named by the first ("step#3" where a name is set several times): the
  // most memory of all devices in that time, all kinds added up.
  std::vector<NamedBytes> marks = {};
  // Of each NVTX range: the most that was allocated in it and live, all kinds added up.
  std::vector<NamedBytes> ranges = {};
  // Of each communication library: the most memory that it held, all kinds added up.
  std::vector<NamedBytes> libraries = {};
};

// Returns the names of marks, which are in order of time: "step#3" of the third "step", and a name
// that is set once as it is. May throw bad_alloc.
[[nodiscard]] std::vector<std::string> step_names(const std::vector<NamedInstant>& marks);

// As the timeline's buckets and counters tell. Of a report of one process; of a merged one nothing.
// May throw bad_alloc.
[[nodiscard]] RankFacts rank_facts_of(const Report& report);

}  // namespace vramscope
