// Fits lines to a size, and writes them to a stream.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/screen.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace vramscope {
namespace {

std::string_view escape_of(ScreenStyle style) {
  switch (style) {
    case ScreenStyle::bold:
      return "\x1b[1m";
    case ScreenStyle::dim:
      return "\x1b[2m";
    case ScreenStyle::reverse:
      return "\x1b[7m";
    case ScreenStyle::live:
      return "\x1b[32m";
    case ScreenStyle::cached:
      return "\x1b[33m";
    case ScreenStyle::driver:
      return "\x1b[36m";
    case ScreenStyle::others:
      return "\x1b[31m";
    case ScreenStyle::plain:
      break;
  }
  return "";
}

std::string without_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string plain_text(const ScreenLine& line) {
  std::string text;
  for (const ScreenSpan& span : line) text += span.text;
  return without_end(std::move(text));
}

std::string styled_text(const ScreenLine& line) {
  std::string text;
  for (const ScreenSpan& span : line) {
    const std::string_view escape = escape_of(span.style);
    text += escape;
    text += span.text;
    if (!escape.empty()) text += "\x1b[0m";
  }
  return without_end(std::move(text));
}

}  // namespace

std::size_t width_of(const ScreenLine& line) {
  std::size_t width = 0;
  for (const ScreenSpan& span : line) width += columns(span.text);
  return width;
}

ScreenLine fitted(const ScreenLine& line, std::size_t width) {
  ScreenLine cut;
  std::size_t left = width;
  for (const ScreenSpan& span : line) {
    std::string text = fitted(span.text, left);
    left -= std::min(columns(text), left);
    if (!text.empty()) cut.push_back({std::move(text), span.style});
  }
  const bool is_bar = !line.empty() && line.back().style == ScreenStyle::reverse;
  if (is_bar && left != 0) cut.push_back({std::string(left, ' '), ScreenStyle::reverse});
  return cut;
}

void Screen::add_lines(const std::string& text,
                       const std::function<ScreenStyle(std::size_t line)>& style) {
  std::istringstream drawn(text);
  std::size_t number = 0;
  for (std::string line; std::getline(drawn, line); ++number) {
    add(std::move(line), style ? style(number) : ScreenStyle::plain);
  }
}

void Screen::fit(const ScreenSize& size) {
  lines.resize(size.lines);
  for (ScreenLine& line : lines) line = fitted(line, size.columns);
}

std::string text_of(const Screen& screen, const Page& page) {
  std::string text;
  for (const ScreenLine& line : screen.lines) {
    text += (page.colour ? styled_text(line) : plain_text(line)) + "\n";
  }
  return text;
}

}  // namespace vramscope
