// ExecReports are the reports that were written before the program was to be replaced by another:
// of an exec that fails none is to stay, once there is a later one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "interpose/life/kept_reports.h"

namespace vramscope {

class ExecReports {
 public:
  // A thread of the program calls exec; it failed. Threads: any.
  void begin_exec() noexcept { executing_.fetch_add(1, std::memory_order_relaxed); }
  void note_failed_exec() noexcept { executing_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] bool is_any_under_way() const noexcept {
    return executing_.load(std::memory_order_acquire) != 0;
  }

  // One was written for an exec. Threads: who writes reports. May throw bad_alloc.
  void add(OwnReport report) { reports_.push_back(std::move(report)); }
  // Before another report is written, in an exec that is under way or not: those of execs that have
  // failed give their names back. Until then they are the last word on a program that is killed.
  // Threads: who writes reports.
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
