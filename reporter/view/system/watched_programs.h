// WatchedPrograms follows the processes that are recorded, from their first look to some time after
// their end, by their live files alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/report/live/live_reading.h"
#include "reporter/report/report.h"
#include "reporter/view/system/container.h"
#include "reporter/view/system/running.h"

namespace vramscope {

// How a process ended. exit: in an orderly way. killed: it could not say its last word.
// out_of_memory: in whatever way, after at least one of its requests was refused.
#define VRAMSCOPE_PROCESS_ENDS(X) X(exit) X(killed) X(out_of_memory)
VRAMSCOPE_NAMED_ENUM(ProcessEnd, std::uint8_t, VRAMSCOPE_PROCESS_ENDS);

struct WatchedProgram {
  RunningProcess process;
  Container container = {};
  std::optional<Report> report = {};  // of the last reading
  std::string problem = {};           // why there is none; "": it was not read yet, or there is one
  std::optional<ProcessEnd> end = {};  // nothing: it runs
};

// Threads: one, the only one of the process. Functions may throw bad_alloc.
class WatchedPrograms {
 public:
  using Clock = std::chrono::steady_clock;
  using Find = std::function<std::vector<RunningProcess>(LookFor)>;
  using Prepare = std::function<void(Report&)>;
  static constexpr std::size_t kMost = 200;  // programs, those that ended included

  // find: who is recorded. prepare: what is done with each report that is read. keep: how long the
  // last values of a program that ended are kept.
  WatchedPrograms(Find find, Prepare prepare, Clock::duration keep);
  ~WatchedPrograms();
  WatchedPrograms(const WatchedPrograms&) = delete;
  WatchedPrograms& operator=(const WatchedPrograms&) = delete;

  // Notes which programs are new and which have ended. Takes little: nothing is read of those that
  // go on.
  void look(LookFor where);
  // Does that, and reads what each program has now.
  void read();

  // Returns those that run, and those that ended and are kept, by process number.
  [[nodiscard]] std::vector<const WatchedProgram*> programs() const;
  // Returns how many ended so far, by ProcessEnd.
  [[nodiscard]] const std::array<std::uint64_t, kProcessEndNames.size()>& ends() const {
    return ends_;
  }
  // Returns how many run that are not watched, for there are too many.
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  struct Watched;

  [[nodiscard]] bool is_known(const RunningProcess& process) const;
  [[nodiscard]] bool has_room();
  void add_new(LookFor where);
  void note_ends();
  void end(Watched& one);

  Find find_;
  Prepare prepare_;
  Clock::duration keep_;
  std::vector<Watched> watched_;
  std::array<std::uint64_t, kProcessEndNames.size()> ends_{};
  std::size_t left_out_ = 0;
};

}  // namespace vramscope
