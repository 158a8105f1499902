// TraceFacts turns what the numbers in a trace's events mean into bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/record/facts.h"

namespace vramscope {

// Whose events they are.
struct TraceProcess {
  std::int64_t pid = 0;
  std::string executable;
  std::string mode;
  std::string tool_version;
  // One instant by both clocks: events carry the second one.
  std::uint64_t wall_ns = 0;
  std::uint64_t clock_ns = 0;
};

// Threads: one.
class TraceFacts {
 public:
  // Contents of chunks, none much larger than kChunkBytes.
  using Chunks = std::vector<std::string>;
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 18;

  // Each may throw bad_alloc; what was not given then is given the next time.
  [[nodiscard]] Chunks first(const TraceProcess& process,
                             const std::vector<std::string>& functions);
  // `names` is what Recorder::names() gave for known().
  [[nodiscard]] Chunks next(const RecorderFacts& names);
  [[nodiscard]] const KnownNames& known() const { return known_; }

 private:
  KnownNames known_;
  std::size_t sources_ = 0;  // of them and of codes all are given each time
  std::size_t codes_ = 0;
};

// What a mark says.
[[nodiscard]] std::string trace_mark(std::uint64_t events, std::uint64_t lost);

}  // namespace vramscope
