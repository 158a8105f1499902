// ExecReports are reports that were written before an exec. If the exec fails, its report is
// removed once there is a later one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "interpose/life/kept_reports.h"

namespace vramscope {

class ExecReports {
 public:
  // Note that a thread of the program calls exec, and that an exec failed. Threads: any.
  void begin_exec() noexcept { executing_.fetch_add(1, std::memory_order_relaxed); }
  void note_failed_exec() noexcept { executing_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] bool is_any_under_way() const noexcept {
    return executing_.load(std::memory_order_acquire) != 0;
  }

  // Adds a report that was written for an exec. Threads: the one that writes reports. May throw
  // bad_alloc.
  void add(OwnReport report) { reports_.push_back(std::move(report)); }
  // Removes the reports of failed execs. Call it before another report is written, for an exec or
  // not. Until then they describe a program that may be killed. Threads: the one that writes
  // reports.
  void take_back(bool is_for_exec) noexcept {
    if (executing_.load(std::memory_order_acquire) > (is_for_exec ? 1 : 0)) return;
    for (const OwnReport& report : reports_) remove_own_file(report.path, report.file);
    reports_.clear();
  }

 private:
  std::atomic<int> executing_{0};
  std::vector<OwnReport> reports_;
};

}  // namespace vramscope
