// Findings are the result of doctor: each describes one thing that was examined, and what to do
// about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/base/named_enum.h"

namespace vramscope {

// stops: nothing is recorded. limits: something is missing, or not as expected. fine: no problem.
#define VRAMSCOPE_FINDING_STATES(X) X(stops) X(limits) X(fine)
VRAMSCOPE_NAMED_ENUM(FindingState, std::uint8_t, VRAMSCOPE_FINDING_STATES);

struct Finding {
  FindingState state = FindingState::fine;
  std::string subject;  // "driver"
  std::string found;    // a sentence without its full stop
  std::string advice;   // what to do; "": nothing
};

// Threads: one.
class Findings {
 public:
  void stops(std::string subject, std::string found, std::string advice) {
    add(FindingState::stops, std::move(subject), std::move(found), std::move(advice));
  }
  void limits(std::string subject, std::string found, std::string advice) {
    add(FindingState::limits, std::move(subject), std::move(found), std::move(advice));
  }
  void fine(std::string subject, std::string found, std::string advice = "") {
    add(FindingState::fine, std::move(subject), std::move(found), std::move(advice));
  }
  // Returns what stops recording first, then what limits it; within each group in the order in
  // which they were found.
  [[nodiscard]] std::vector<Finding> in_order() const;
  [[nodiscard]] std::size_t count(FindingState state) const;

 private:
  void add(FindingState state, std::string subject, std::string found, std::string advice) {
    all_.push_back({state, std::move(subject), std::move(found), std::move(advice)});
  }
  std::vector<Finding> all_;
};

}  // namespace vramscope
