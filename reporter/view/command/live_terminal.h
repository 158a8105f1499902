// LiveTerminal paints screens on a terminal and reads keys. Only its source knows ncurses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "reporter/view/listing/screen.h"

namespace vramscope {

struct LiveKey {
  enum class Kind : std::uint8_t {
    none,  // the time is over
    letter,
    up,
    down,
    page_up,
    page_down,
    home,
    end,
    enter,
    erase,
    escape,
    resize
  };
  Kind kind = Kind::none;
  char letter = 0;  // a byte of UTF-8
};

// The terminal is as it was when the object is destroyed, also if a signal ends the process.
// There is one at a time. Threads: one.
class LiveTerminal {
 public:
  // Takes the terminal. page: whether it may have colours.
  explicit LiveTerminal(const Page& page);
  ~LiveTerminal();
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;

  // Why the terminal cannot be used; "": it can.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] ScreenSize size() const;
  void paint(const Screen& screen);
  // Waits for a key, at most so long.
  [[nodiscard]] LiveKey next_key(int wait_ms);

 private:
  std::string problem_;
  void* screen_ = nullptr;
};

}  // namespace vramscope
