// RunningOptions are the options that can change while the program runs (vramscope ctl set_option).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "interpose/life/schedule.h"
#include "interpose/settings/options.h"

namespace vramscope {

// Threads: any; set() one.
class RunningOptions {
 public:
  // The schedule outlives it, and begins with the same options.
  RunningOptions(const Options& at_start, Schedule& schedule) noexcept;

  [[nodiscard]] bool reports_at_exit() const noexcept {
    return at_exit_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool reports_oom() const noexcept {
    return on_oom_.load(std::memory_order_relaxed) == OnOom::report;
  }

  // name: as in options.def. Returns why the option does not change, or "". May throw bad_alloc.
  [[nodiscard]] std::string set(std::string_view name, std::string_view value);

 private:
  struct Row {
    std::string_view name;
    void (*apply)(RunningOptions& running, const Options& parsed) noexcept;
  };
  static const Row kRows[];

  const Options& at_start_;
  Schedule& schedule_;
  std::atomic<bool> at_exit_;
  std::atomic<OnOom> on_oom_;
};

}  // namespace vramscope
