// How much room there is where a text goes.
// SPDX-License-Identifier: Apache-2.0
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "reporter/view/command/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeastWidth = 60;  // a table's numbers and a name
constexpr std::size_t kMostWidth = 400;
constexpr std::size_t kLeastLines = 40;  // on fewer nothing is told; what is above is scrolled to
// What a person or a script says that lines may take; 0: nothing.
std::size_t columns_asked_for() {
  const char* const given = std::getenv("COLUMNS");
  const std::string text = given == nullptr ? "" : given;
  return text.empty() || !not_a_count(text).empty() ? 0 : std::stoul(text);
}

// Columns and rows; 0: it is no terminal, or does not say.
winsize terminal_size() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

// https://no-color.org: set and not empty.
bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return (no_colour == nullptr || *no_colour == '\0') && !dumb;
}

}  // namespace

Page page_of(const Listing& listing) {
  Page page;
  page.unicode = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const bool to_terminal = listing.output.empty() && isatty(STDOUT_FILENO) != 0;
  page.colour = to_terminal && colour_wanted();
  std::size_t width = columns_asked_for();
  if (width == 0 && to_terminal) width = terminal_size().ws_col;
  page.cuts = width != 0 && !listing.wide;
  if (width != 0) page.width = std::clamp(width, kLeastWidth, kMostWidth);
  const std::size_t rows = to_terminal ? terminal_size().ws_row : 0;
  if (rows != 0 && !listing.typed_most && !listing.wide) page.lines = std::max(rows, kLeastLines);
  return page;
}

std::size_t help_width() {
  constexpr std::size_t kMostForHelp = 100;
  return std::min(page_of({}).width, kMostForHelp);
}

}  // namespace vramscope
