// A Screen is what fills a terminal: lines of text with styles, made for one size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// The first four say how letters look, the others of what a part of a bar is.
#define VRAMSCOPE_SCREEN_STYLES(X) \
  X(plain) X(bold) X(dim) X(reverse) X(live) X(cached) X(driver) X(others)
VRAMSCOPE_NAMED_ENUM(ScreenStyle, std::uint8_t, VRAMSCOPE_SCREEN_STYLES);

struct ScreenSpan {
  std::string text;  // printable
  ScreenStyle style = ScreenStyle::plain;
};
using ScreenLine = std::vector<ScreenSpan>;

struct ScreenSize {
  std::size_t lines = 24;
  std::size_t columns = 80;
};

struct Screen {
  std::vector<ScreenLine> lines;

  void add(std::string text, ScreenStyle style = ScreenStyle::plain) {
    lines.push_back({{std::move(text), style}});
  }
  // Adds the lines of a drawn text, each in the style of its number; null: plain.
  void add_lines(const std::string& text,
                 const std::function<ScreenStyle(std::size_t line)>& style = nullptr);
  // Cuts lines at the right edge, those below the last one, and adds empty ones.
  void fit(const ScreenSize& size);
};

// The width of a line, in columns.
[[nodiscard]] std::size_t width_of(const ScreenLine& line);
// Cut at `columns`; lines that end reversed are filled up to there.
[[nodiscard]] ScreenLine fitted(const ScreenLine& line, std::size_t columns);

// Lines for a stream, each with a newline, without spaces at their ends. Styles are escapes of
// terminals where the page has colour.
[[nodiscard]] std::string text_of(const Screen& screen, const Page& page);

}  // namespace vramscope
