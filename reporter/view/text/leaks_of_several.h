// LeaksOfSeveral says what several processes left, by place and whose it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/leaks.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/text/holders_text.h"
#include "reporter/view/text/leak_rows.h"

namespace vramscope {

// What several reports left, by place: names of call stacks tell which are the same. Of each
// process its last report counts, with its kMostLive largest places. Threads: one. May throw
// bad_alloc.
class LeaksOfSeveral {
 public:
  // With its leaks, of a process or merged.
  void add(const Report& report, const Leaks& leaks, const NameFrame& name);
  // spread_text() and a table of the `most` largest places, 0 for all; "" where fewer than two
  // processes left something.
  [[nodiscard]] std::string text(const Page& page, std::size_t most) const;

 private:
  struct Process {
    ProcessFacts process;
    std::string death;  // as of a LeakHolder
    std::uint64_t sequence = 0;
    std::uint64_t left = 0;
    std::vector<LeakRow> places;
  };
  void add(Process&& process);
  void add_merged(const Report& report, const Leaks& leaks, const NameFrame& name);
  [[nodiscard]] std::vector<LeakRow> rows() const;
  std::vector<Process> processes_;
};

}  // namespace vramscope
