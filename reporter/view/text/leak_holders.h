// LeakHolder is a process's part of what was never freed; the functions here say whose a leak is,
// of reports that were merged and of several.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/text/format.h"
#include "reporter/view/text/frames.h"
#include "reporter/view/text/leaks.h"

namespace vramscope {

struct LeakHolder {
  const ProcessFacts* process = nullptr;  // of a report, which outlives this
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  // allocations
  std::string death = {};   // "killed", "died": it may have freed it; "": it ended by itself
};

// Tells of a merged report which processes hold a place's memory. The report outlives it. Threads:
// any, once it is made, which may throw bad_alloc.
class LeakHolders {
 public:
  explicit LeakHolders(const Report& report);
  // The largest first. Empty: the report is of one process, or does not tell (earlier versions
  // merged it, or the place is none of any process's largest). May throw bad_alloc.
  [[nodiscard]] std::vector<LeakHolder> of(const Share& share) const;

 private:
  struct Entry {
    const MergedProcess* process;
    const LiveShare* live;
  };
  std::unordered_map<std::int64_t, std::vector<Entry>> by_site_;  // in the order of processes
};

// "killed", "died" of a process that did not write its report itself, else "".
[[nodiscard]] std::string death_word(const MergedProcess& process);

// ", in rank 3 (4711) alone", ", in 3 of 8 processes, 1.00 MiB to 12.0 MiB, most in rank 3 (4711)";
// "" of no holders. `bytes`: of the place; where the holders' are less others may hold the rest.
[[nodiscard]] std::string holders_text(const std::vector<LeakHolder>& holders,
                                       std::size_t processes, std::uint64_t bytes);

// "8 processes left 36.0 KiB to 12.0 MiB each, median 36.0 KiB, most in rank 3 (4711)", of all
// processes, those that left nothing too; "" of fewer than two. Ends with a newline.
[[nodiscard]] std::string spread_text(std::vector<LeakHolder> processes, const Page& page);

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
