// TraceFacts turns the meaning of the numbers in a trace's events into bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/base/facts.h"
#include "reporter/record/trace/fact_code.h"

namespace vramscope {

// Threads: one.
class TraceFacts {
 public:
  using Chunks = FactWriter::Chunks;  // the contents of chunks

  // Each function may throw bad_alloc. The facts that it would have returned are then part of the
  // next call's.
  [[nodiscard]] Chunks first(const TraceProcess& process,
                             const std::vector<std::string>& functions);
  // Returns the new facts. `names` is what Recorder::names() returned for known().
  [[nodiscard]] Chunks next(const RecorderFacts& names);
  // Returns the contents of chunks of marks: the marks in `names` that were not returned yet.
  [[nodiscard]] Chunks next_marks(const RecorderFacts& names);
  // Returns all repeated marks, each time.
  [[nodiscard]] static Chunks repeated_marks(const RecorderFacts& names);
  // Returns the process's settings, or nothing if there are none.
  [[nodiscard]] static Chunks settings(const TraceProcess& process);
  [[nodiscard]] const KnownNames& known() const { return known_; }

 private:
  KnownNames known_;
  std::size_t sources_ = 0;  // sources and codes are all passed each time, so their counts are kept
  std::size_t codes_ = 0;
  std::size_t marks_ = 0;
};

// Returns the content of a mark chunk.
[[nodiscard]] std::string trace_mark(std::uint64_t events, std::uint64_t lost);

}  // namespace vramscope
