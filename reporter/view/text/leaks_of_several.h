// LeaksOfSeveral says what several processes left, by place and whose it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/text/format.h"
#include "reporter/view/text/frames.h"
#include "reporter/view/text/leak_holders.h"
#include "reporter/view/text/leaks.h"

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
  struct Place {
    std::string memory;
    std::vector<std::string> frames;  // innermost first
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };
  struct Process {
    ProcessFacts process;
    std::string death;  // as of a LeakHolder
    std::uint64_t sequence = 0;
    std::uint64_t left = 0;
    std::vector<Place> places;
  };
  struct Row {  // a place of all processes
    const Place* place = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
    std::vector<LeakHolder> holders = {};  // the largest first
  };
  [[nodiscard]] static Place place_of(const Report& report, const Share& share,
                                      const NameFrame& name);
  void add(Process&& process);
  void add_merged(const Report& report, const Leaks& leaks, const NameFrame& name);
  [[nodiscard]] std::vector<Row> rows() const;  // the largest first
  [[nodiscard]] std::string table(const Page& page, std::size_t most) const;
  std::vector<Process> processes_;
};

}  // namespace vramscope
