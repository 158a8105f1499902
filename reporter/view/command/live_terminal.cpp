// Paints with ncurses, if the build has it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/live_terminal.h"

#include "reporter/view/export/build_parts.h"

#ifdef VRAMSCOPE_HAS_CURSES

#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace vramscope {
namespace {

constexpr short kFirstPair = 1;
constexpr short kDefault = -1;

// A colour for each style that has one, by number of the style.
void begin_colours() {
  if (!has_colors()) return;
  start_color();
  use_default_colors();
  constexpr short kColours[] = {kDefault,    kDefault,     kDefault,   kDefault,
                                COLOR_GREEN, COLOR_YELLOW, COLOR_CYAN, COLOR_RED};
  for (std::size_t i = 0; i < std::size(kColours); ++i) {
    init_pair(static_cast<short>(kFirstPair + i), kColours[i], kDefault);
  }
}

attr_t attributes_of(ScreenStyle style) {
  switch (style) {
    case ScreenStyle::bold:
      return A_BOLD;
    case ScreenStyle::dim:
      return A_DIM;
    case ScreenStyle::reverse:
      return A_REVERSE;
    default:
      break;
  }
  if (style == ScreenStyle::plain || !has_colors()) return A_NORMAL;
  return static_cast<attr_t>(COLOR_PAIR(kFirstPair + static_cast<int>(style)));
}

LiveKey key_of(int code) {
  using Kind = LiveKey::Kind;
  switch (code) {
    case ERR:
      return {};
    case KEY_UP:
      return {.kind = Kind::up};
    case KEY_DOWN:
      return {.kind = Kind::down};
    case KEY_PPAGE:
      return {.kind = Kind::page_up};
    case KEY_NPAGE:
      return {.kind = Kind::page_down};
    case KEY_HOME:
      return {.kind = Kind::home};
    case KEY_END:
      return {.kind = Kind::end};
    case KEY_RESIZE:
      return {.kind = Kind::resize};
    case KEY_ENTER:
    case '\n':
    case '\r':
      return {.kind = Kind::enter};
    case KEY_BACKSPACE:
    case 127:
    case '\b':
      return {.kind = Kind::erase};
    case 27:
      return {.kind = Kind::escape};
    default:
      break;
  }
  return code > 0 && code < 256 ? LiveKey{.kind = Kind::letter, .letter = static_cast<char>(code)}
                                : LiveKey{};
}

}  // namespace

std::string_view why_no_curses() noexcept { return ""; }

LiveTerminal::LiveTerminal(const Page& page) {
  constexpr int kEscapeMs = 25;  // that a terminal takes to send the rest of a key
  screen_ = newterm(nullptr, stdout, stdin);
  if (screen_ == nullptr) {
    const char* const name = std::getenv("TERM");
    problem_ = std::string("the terminal '") + (name == nullptr ? "" : name) + "' is not known";
    return;
  }
  set_escdelay(kEscapeMs);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  curs_set(0);
  if (page.colour) begin_colours();
}

LiveTerminal::~LiveTerminal() {
  if (screen_ == nullptr) return;
  endwin();
  delscreen(static_cast<SCREEN*>(screen_));
}

ScreenSize LiveTerminal::size() const {
  int lines = 0;
  int columns = 0;
  getmaxyx(stdscr, lines, columns);
  return {.lines = static_cast<std::size_t>(std::max(lines, 1)),
          .columns = static_cast<std::size_t>(std::max(columns, 1))};
}

void LiveTerminal::paint(const Screen& screen) {
  erase();
  int row = 0;
  for (const ScreenLine& line : screen.lines) {
    move(row++, 0);
    for (const ScreenSpan& span : line) {
      attrset(static_cast<int>(attributes_of(span.style)));
      addstr(span.text.c_str());
    }
  }
  attrset(A_NORMAL);
  refresh();
}

LiveKey LiveTerminal::next_key(int wait_ms) {
  timeout(std::max(wait_ms, 1));
  const int code = getch();
  // Nobody will type any more where the terminal is gone.
  if (code == ERR && feof(stdin) != 0) return {.kind = LiveKey::Kind::letter, .letter = 'q'};
  return key_of(code);
}

}  // namespace vramscope

#else

namespace vramscope {

std::string_view why_no_curses() noexcept {
  return "at build time, libncurses-dev was missing or disabled";
}
LiveTerminal::LiveTerminal(const Page&)
    : problem_("this build shows no screen (" + std::string(why_no_curses()) +
               "); use live --once, --json or --csv") {}
LiveTerminal::~LiveTerminal() = default;
ScreenSize LiveTerminal::size() const { return {}; }
void LiveTerminal::paint(const Screen&) {}
LiveKey LiveTerminal::next_key(int) { return {}; }

}  // namespace vramscope

#endif
