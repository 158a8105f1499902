// ProgressLine shows how far something long is: on a terminal, and never in a pipe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "reporter/view/trial/trial_runs.h"

namespace vramscope {

// One line of stderr, which is gone with this object. Nothing is shown in the first second of
// waiting. What has several parts, each with shares of its own, is shown part by part. Threads:
// one.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  // what: "replay". noun: what is counted, "events". since: when somebody began to wait.
  ProgressLine(std::string what, std::string noun, Clock::time_point since = Clock::now());
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const TrialShare& share);
  // For play_all(). This object outlives what it is given to.
  [[nodiscard]] TellShare teller() {
    return [this](const TrialShare& share) { show(share); };
  }

 private:
  const std::string what_;
  const std::string noun_;
  const bool is_terminal_;
  const Clock::time_point since_;
  Clock::time_point shown_ = since_;
  std::uint64_t part_ = 1;
  std::uint64_t part_ns_ = 0;  // of the share before
  bool is_shown_ = false;
};

// "replay: 42 %, 12,300,000 events a second, 3.0 s left".
[[nodiscard]] std::string progress_text(const std::string& what, const std::string& noun,
                                        const TrialShare& share);

}  // namespace vramscope
