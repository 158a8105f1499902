// Reads what a program knew.
// SPDX-License-Identifier: Apache-2.0
#include "test/differential/known.h"

#include <sstream>

namespace vramscope::differential {

Known read_known(std::string_view text) {
  Known known;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string what, name;
    int number = 0;
    words >> what;
    if (what == "calls") {
      words >> name;
      words >> known.calls[name].calls >> known.calls[name].failures;
    } else if (what == "sum") {
      words >> number >> name;
      Known::Sum& sum = known.sums[{number, name}];
      words >> sum.live >> sum.peak >> sum.made;
    } else if (what == "site") {
      words >> number;
      Known::Site& site = known.sites[number];
      words >> site.live >> site.of_graphs;
    } else if (what == "range") {
      words >> number;
      words >> known.ranges[number].offset >> known.ranges[number].bytes;
    } else if (what == "held") {
      words >> known.held;
    } else if (what == "together") {
      known.together = true;
    } else if (what == "nothing") {
      known.nothing = true;
    }
  }
  return known;
}

}  // namespace vramscope::differential
