// LiveSession is what a person looks at: what was read of a program, and what keys have chosen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "reporter/report/live/live_reading.h"
#include "reporter/view/analysis/live_figures.h"
#include "reporter/view/command/live_terminal.h"
#include "reporter/view/text/live_screen.h"

namespace vramscope {

// Threads: one.
class LiveSession {
 public:
  explicit LiveSession(const std::string& live_file);

  // Reads, unless it is paused or the program has ended. What was read before stays if that fails;
  // then the message says why. Returns false, with a problem, as long as nothing was read.
  bool read();
  [[nodiscard]] const LiveReading& reading() const { return reading_; }
  [[nodiscard]] LiveRowNames& names() { return names_; }
  [[nodiscard]] LiveView& view() { return view_; }

  [[nodiscard]] Screen screen(const ScreenSize& size, const Page& page);
  // Does what the key means. rows: that the screen has for them. Returns false for the last one.
  bool act(const LiveKey& key, std::size_t rows);

 private:
  [[nodiscard]] LivePicture state() { return {reading_, history_, mark_, names_}; }
  bool act_on_letter(char letter);
  void type(const LiveKey& key);
  void end_prompt();
  void find_next();
  void write_report();
  void note_end();

  LiveReader reader_;
  LiveReading reading_;
  LiveHistory history_;
  LiveMark mark_;
  LiveRowNames names_;
  LiveView view_;
};

}  // namespace vramscope
