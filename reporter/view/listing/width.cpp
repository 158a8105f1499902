// How many columns of a terminal a text takes, and texts made to fit a number of them.
// SPDX-License-Identifier: Apache-2.0
#include <cwchar>

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::string_view kEllipsis = "..";
constexpr char32_t kFirstOdd = 0x300;  // below it every printable one takes one column

// What the C library says of the locale's letters: 0 for marks that combine, 2 for wide letters.
std::size_t columns_of(char32_t c) {
  if (c < kFirstOdd || c == kNoCodePoint) return 1;
  const int wide = wcwidth(static_cast<wchar_t>(c));
  return wide < 0 ? 1 : static_cast<std::size_t>(wide);
}

// How many bytes of the text's beginning fit into `width` columns.
std::size_t bytes_within(std::string_view text, std::size_t width) {
  std::string_view rest = text;
  std::size_t used = 0;
  while (!rest.empty()) {
    std::string_view behind = rest;
    used += columns_of(take_code_point(behind));
    if (used > width) break;
    rest = behind;
  }
  return text.size() - rest.size();
}

// Where a line of at most `width` columns ends: behind a part of the sentence, else behind a word.
std::size_t end_of_line(std::string_view text, std::size_t width) {
  const std::size_t most = bytes_within(text, width);
  if (most == text.size()) return most;
  const std::size_t space = text.rfind(' ', most);
  for (std::size_t at = space; at != std::string_view::npos && at > most / 2;
       at = text.rfind(' ', at - 1)) {
    if (text[at - 1] == ',' || text[at - 1] == ';') return at;
  }
  return space == std::string_view::npos || space == 0 ? std::min(text.find(' '), text.size())
                                                       : space;
}

// Over as many lines as it needs where the page cuts, each behind its margin.
std::string broken(std::string_view text, std::string_view first, std::string_view further,
                   const Page& page) {
  if (!page.cuts) return std::string(first).append(text) + "\n";
  std::string result;
  for (std::string_view margin = first; !text.empty() || result.empty(); margin = further) {
    const std::size_t length = end_of_line(text, page.width - std::min(page.width, margin.size()));
    result += fitted(std::string(margin).append(text.substr(0, length)), page) + "\n";
    text.remove_prefix(std::min(text.size(), length + 1));
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text, const Page& page) {
  constexpr char32_t kTimesSign = 0xd7;  // our own, in rows
  std::string result;
  while (!text.empty()) {
    std::string_view rest = text;
    const char32_t c = take_code_point(rest);
    if (!misleads(c) && (c < 0x80 || page.unicode)) {
      result += text.substr(0, text.size() - rest.size());
    } else if (c == kTimesSign) {
      result += 'x';
    } else {
      result += '?';
    }
    text = rest;
  }
  return result;
}

std::size_t columns(std::string_view text) {
  std::size_t result = 0;
  while (!text.empty()) result += columns_of(take_code_point(text));
  return result;
}

std::string fitted(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  const std::size_t keep = width > kEllipsis.size() ? width - kEllipsis.size() : 0;
  const std::string kept(text.substr(0, bytes_within(text, keep)));
  return kept + std::string(kEllipsis.substr(0, width - keep));
}

std::string fitted(std::string_view text, const Page& page) {
  return page.cuts ? fitted(text, page.width) : std::string(text);
}

std::string fitted_stack(std::string_view text, std::size_t width) {
  constexpr std::string_view kBefore = " < ";
  constexpr std::string_view kMore = " < ..";
  if (columns(text) <= width || width < kMore.size()) return fitted(text, width);
  const std::size_t most = bytes_within(text, width - kMore.size());
  const std::size_t end = text.rfind(kBefore, most);
  if (end == std::string_view::npos || end == 0) return fitted(text, width);
  return std::string(text.substr(0, end)).append(kMore);
}

std::string shortened(std::string_view text, std::size_t width) {
  const std::size_t has = columns(text);
  if (has <= width) return std::string(text);
  const std::size_t kept = width - std::min(width, kEllipsis.size());
  std::string_view end = text;
  for (std::size_t left = has; left > kept / 2;) left -= columns_of(take_code_point(end));
  return fitted(text, width - kept / 2) + std::string(end);
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string result;
  for (std::size_t fits = 0; (fits = bytes_within(text, width)) < text.size();) {
    std::size_t space = text.rfind(' ', fits);
    if (space == std::string_view::npos) space = text.find(' ');
    if (space == std::string_view::npos) break;
    (result += text.substr(0, space)) += '\n';
    text.remove_prefix(space + 1);
  }
  return result += text;
}

namespace {

// The newline at the end has none.
std::string in_colour(std::string lines, Colour colour, const Page& page) {
  lines.pop_back();
  return coloured(lines, colour, page) + "\n";
}

}  // namespace

std::string paragraph(std::string_view text, const Page& page, std::size_t indent) {
  return broken(text, std::string(indent, ' '), std::string(indent + 2, ' '), page);
}

std::string sentence(std::string_view text, const Page& page) {
  return broken(text, "", "  ", page);
}

std::string paragraph(std::string_view text, Colour colour, const Page& page, std::size_t indent) {
  return in_colour(paragraph(text, page, indent), colour, page);
}

std::string sentence(std::string_view text, Colour colour, const Page& page) {
  return in_colour(sentence(text, page), colour, page);
}

}  // namespace vramscope
