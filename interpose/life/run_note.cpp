// Appends lines to the note of a run.
// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/run_note.h"

#include <unistd.h>

#include <algorithm>

#include "interpose/settings/private_variables.h"
#include "interpose/settings/startup.h"
#include "reporter/report/files/write_signals.h"

namespace vramscope {
namespace {

// Paths contain no null byte, so it can replace a newline.
std::string line_of(std::string path) {
  std::replace(path.begin(), path.end(), '\n', '\0');
  return path + '\n';
}

// Writes all lines at once, because other processes also write to the file.
void append(const std::string& lines) {
  if (startup().note_file.empty()) return;
  const int file = open_note(startup().note_file.c_str());
  if (file < 0) return;  // the tool has ended
  const HeldWriteSignals held;
  [[maybe_unused]] const ssize_t written = write(file, lines.data(), lines.size());
  close(file);
}

}  // namespace

void note_report(const std::string& path) { append(line_of(path)); }

void note_trace(const std::string& path) { append(line_of(kTraceNote + path)); }

void note_live_file(const std::string& path, const std::string& next_report) {
  append(line_of(kLiveNote + path) + line_of(kNextNote + next_report));
}

}  // namespace vramscope
