// Findings are what doctor says: each is one thing that was looked at, and what to do about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/ground/named_enum.h"

namespace vramscope {

// stops: nothing is recorded with it. limits: something is missing, or not as one may expect. fine.
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
  // What stops recording first, then what limits it; within each as they were found.
  [[nodiscard]] std::vector<Finding> in_order() const;
  [[nodiscard]] std::size_t count(FindingState state) const;

 private:
  void add(FindingState state, std::string subject, std::string found, std::string advice) {
    all_.push_back({state, std::move(subject), std::move(found), std::move(advice)});
  }
  std::vector<Finding> all_;
};

}  // namespace vramscope
