// KeptRefusals chooses which reports on out of memory stay, if a program runs out of memory again
// and again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/base/place.h"
#include "interpose/life/kept_reports.h"
#include "reporter/base/event.h"

namespace vramscope {

// Threads: one. May throw bad_alloc.
class KeptRefusals {
 public:
  static constexpr std::size_t kLargest = 8;

  // Adds a report on a refused request. The first and the last report stay, and between them those
  // of the largest requests, no two with the same call stack and size. Others are removed.
  void add(OwnReport report, const Event& asked);

 private:
  struct One {
    OwnReport report;
    Tag tag = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::size_t needless() const noexcept;

  std::vector<One> all_;  // in the order in which they were written
};

}  // namespace vramscope
