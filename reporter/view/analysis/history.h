// RunLog lists runs of one program, or of several, by time: peak, leaks and allocations of each,
// and how the peak grew from week to week.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct ProcessFacts;
struct Report;

// Returns the name that `run --label` gave the run; "": none.
[[nodiscard]] std::string label_of(const ProcessFacts& process);

// One run: a process, or the ranks of a job. Peak and leaks are those of the process that has most.
struct PastRun {
  std::uint64_t start_ns = 0;  // since the epoch: when the first process began; 0: not known
  std::string label = {};      // of run --label; "": none, or ranks have several
  std::string program = {};    // path of the first process's
  std::string name = {};       // of that program, or of the script that Python runs
  std::size_t processes = 0;
  std::size_t died = 0;  // of these
  std::uint64_t peak_bytes = 0;
  std::uint64_t leaked_bytes = 0;  // never freed, without what stays by design
  std::uint64_t allocations = 0;   // of all processes
  std::string file = {};           // the first report, or the folder of the run
  // How much the peak is above that of the program's run before; nothing: there is none.
  std::optional<std::int64_t> change_bytes = {};
  std::uint64_t before_bytes = 0;  // that peak
};

// The median growth of a program's peak.
struct PeakTrend {
  std::string program = {};
  std::string name = {};
  std::size_t runs = 0;
  std::uint64_t first_ns = 0, last_ns = 0;  // when these began
  std::uint64_t first_bytes = 0, last_bytes = 0;
  double percent_a_week = 0;
};

// Threads: one. All functions may throw bad_alloc.
class RunLog {
 public:
  explicit RunLog(NameFrame name) : name_(std::move(name)) {}

  // `run`: what reports of one run have in common, such as their folder; "": reports of one job are
  // of one run, and any other is a run.
  void add(const Report& report, const std::string& file, const std::string& run);

  // The newest first.
  [[nodiscard]] std::vector<PastRun> runs() const;
  // Of programs with three runs or more, over a day or more.
  [[nodiscard]] static std::vector<PeakTrend> trends(const std::vector<PastRun>& runs);

 private:
  NameFrame name_;
  std::map<std::string, PastRun> by_key_;
};

}  // namespace vramscope
