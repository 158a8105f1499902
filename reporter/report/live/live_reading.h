// LiveReader reads again and again what a running process has, from its live file alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "reporter/report/live/live_image.h"
#include "reporter/report/report.h"

namespace vramscope {

struct LiveReading {
  // The report has no segments and no trace. Its kinds and statistics are of one instant. Its sites
  // and axes hold at most what their kind holds: what was allocated or freed within the
  // milliseconds of the reading has no site.
  std::optional<Report> report = {};
  std::string problem = {};      // why there is no report: one line without the file's path
  bool has_ended = false;        // the process is dead, and this is what it had in the end
  bool is_reported = false;      // its last report is written, under the next name
  bool has_exited = false;       // it ended in an orderly way, or executed another program
  std::string next_report = {};  // absolute path of its next report, or of its last one
};

// It sends no signal and does not stop the process. Threads: one, the only one of the process.
class LiveReader {
 public:
  explicit LiveReader(const std::string& path) : file_(path) {}

  // The file stays open when it loses its name, so a reading after the program's end succeeds.
  [[nodiscard]] LiveReading read() const;
  // Returns whether the process no longer writes into the file: it has ended, or executes another
  // program now. Reads only the file's header.
  [[nodiscard]] bool is_left() const;

 private:
  OpenLiveFile file_;
};

}  // namespace vramscope
