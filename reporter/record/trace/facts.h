// TraceFacts turns what the numbers in a trace's events mean into bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/ground/facts.h"
#include "reporter/record/trace/fact_code.h"

namespace vramscope {

// Threads: one.
class TraceFacts {
 public:
  using Chunks = FactWriter::Chunks;  // contents of chunks

  // Each may throw bad_alloc; what was not given then is given the next time.
  [[nodiscard]] Chunks first(const TraceProcess& process,
                             const std::vector<std::string>& functions);
  // `names` is what Recorder::names() gave for known().
  [[nodiscard]] Chunks next(const RecorderFacts& names);
  // The contents of chunks of marks, those of `names` that were not given yet.
  [[nodiscard]] Chunks next_marks(const RecorderFacts& names);
  // All of them, each time.
  [[nodiscard]] static Chunks repeated_marks(const RecorderFacts& names);
  [[nodiscard]] const KnownNames& known() const { return known_; }

 private:
  KnownNames known_;
  std::size_t sources_ = 0;  // of them and of codes all are given each time
  std::size_t codes_ = 0;
  std::size_t marks_ = 0;
};

// What a mark says.
[[nodiscard]] std::string trace_mark(std::uint64_t events, std::uint64_t lost);

}  // namespace vramscope
