// peak_time() returns when a process held most of its device memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "reporter/view/analysis/process_figures.h"

namespace vramscope {

// After the process's time 0.
struct PeakTime {
  std::uint64_t from_ns = 0;
  std::uint64_t until_ns = 0;

  [[nodiscard]] bool is_exact() const { return from_ns == until_ns; }
};

// An instant where its trace was followed, or where one kind of memory, or a device's kinds
// together, had the whole peak. Else from the first to the last bucket of its timeline in which it
// may have held the lower bound of its peak. Nothing: it held no memory of a device, or has no
// timeline. May throw bad_alloc.
[[nodiscard]] std::optional<PeakTime> peak_time(const ReportOfProcess& one);

}  // namespace vramscope
