// What a program knew of itself when a report was made (reports.cpp writes it).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramscope::differential {

struct Known {
  struct Calls {
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;
  };
  struct Sum {
    std::int64_t live = 0;
    std::int64_t peak = 0;
    std::uint64_t made = 0;
  };
  struct Site {
    std::int64_t live = 0;       // bytes
    std::int64_t of_graphs = 0;  // of these, bytes of graphs: as many of them count as are mapped
  };
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Calls> calls;               // by exported symbol
  std::map<std::pair<int, std::string>, Sum> sums;  // by device and kind
  std::map<int, Site> sites;
  std::map<int, Range> ranges;  // of each site's function in the program
  std::int64_t held = 0;        // bytes that may count as used still: freed while graphs were there
  bool nothing = false;         // threads were at work: only that there is a report
  bool together = false;        // threads ran at the same time: peaks are lower bounds
};

[[nodiscard]] Known read_known(std::string_view text);

}  // namespace vramscope::differential
