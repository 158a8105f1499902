// How much room there is where a text goes, and texts that are made to fit it.
// SPDX-License-Identifier: Apache-2.0
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "reporter/report/report.h"
#include "reporter/view/command/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeastWidth = 60;  // a table's numbers and a name
constexpr std::size_t kMostWidth = 400;
constexpr std::size_t kLeastLines = 40;  // on fewer nothing is told; what is above is scrolled to
constexpr std::size_t kFewerRows[] = {SIZE_MAX, 16, 12, 10, 9, 8, 7,
                                      6,        5,  4,  3,  2, 1};  // first the usual number
// What repeats something goes before any row; bars before the largest rows do.
struct Briefer {
  Brevity brevity;
  std::size_t least;  // rows
};
constexpr Briefer kBriefer[] = {{Brevity::none, SIZE_MAX},
                                {Brevity::no_repeats, 6},
                                {Brevity::no_bars, 4},
                                {Brevity::least, 1}};

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

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string left_out_text(std::size_t lines, std::size_t usual, const Page& page) {
  return paragraph("and " + counted(lines, "line") + " for which the terminal has no room: -n " +
                       std::to_string(usual) + " shows all",
                   page);
}

// The first text that fits, of those that lose ever more; else the one that lost most.
std::string briefest_needed(Listing& listing, Page brief,
                            const std::function<std::string(const Page&)>& make,
                            const std::function<bool(const std::string&)>& fits) {
  const std::size_t usual = listing.most;
  std::string text;
  for (const auto& [brevity, least] : kBriefer) {
    brief.brevity = brevity;
    for (const std::size_t fewer : kFewerRows) {
      const bool is_usual = fewer == kFewerRows[0];
      if (!is_usual && (fewer < least || (usual != 0 && fewer >= usual))) continue;
      listing.most = is_usual ? usual : fewer;
      text = make(brief);
      if (!fits(text)) continue;
      listing.most = usual;
      return text;
    }
  }
  listing.most = usual;
  return text;
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

std::string fitted_to_screen(Listing& listing, const Page& page, std::size_t reserved,
                             const std::function<std::string(const Page&)>& make) {
  const std::string whole = make(page);
  const auto fits = [&](std::size_t lines) { return lines + reserved <= page.lines; };
  const bool is_asked_for = page.stacks != Stacks::in_rows;  // whole stacks take what they take
  if (page.lines == 0 || is_asked_for || fits(lines_of(whole))) return whole;
  Page brief = page;
  brief.is_brief = true;
  const std::size_t usual = listing.most;
  const std::size_t note = lines_of(left_out_text(lines_of(whole), usual, page));
  const std::string text = briefest_needed(
      listing, brief, make, [&](const std::string& one) { return fits(lines_of(one) + note); });
  const std::size_t left_out = lines_of(whole) - std::min(lines_of(whole), lines_of(text));
  if (left_out <= note) return whole;
  std::string noted = text;
  const std::size_t next = text.rfind("\nNext: ");
  return noted.insert(next == text.npos ? text.size() : next, left_out_text(left_out, usual, page));
}

Makers fitting_makers(OneReport& arguments, const Makers& make) {
  constexpr std::size_t kNext = 2;    // lines
  constexpr std::size_t kPrompt = 1;  // of the shell, below
  constexpr std::size_t kName = 11;   // "vramscope: "
  const std::size_t head = arguments.filter.is_empty() ? 0 : 1;
  Makers fitting = make;
  fitting.text = [&arguments, &make, head](const Report& report, const Page& page) {
    const std::size_t said =
        arguments.said_columns == 0 ? 0 : 1 + (kName + arguments.said_columns) / page.width;
    return fitted_to_screen(arguments.listing, page, kNext + kPrompt + head + said,
                            [&](const Page& one) { return make.text(report, one); });
  };
  return fitting;
}

}  // namespace vramscope
