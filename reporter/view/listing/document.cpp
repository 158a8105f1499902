// Renders documents.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/document.h"

#include <algorithm>

namespace vramscope {
namespace {

ShownIn both(const ShownIn& a, const ShownIn& b) {
  return {.from = std::max(a.from, b.from),
          .to = std::min(a.to, b.to),
          .least_rows = std::max(a.least_rows, b.least_rows)};
}

std::string text_of(const TextBlock& block, const Page& page, const ScreenRoom& room) {
  switch (block.kind) {
    case TextBlock::Kind::heading:
      return coloured(fitted(block.text, page), Colour::bold, page) + "\n";
    case TextBlock::Kind::title:
      return sentence(block.text, Colour::bold, page);
    case TextBlock::Kind::sentence:
      return sentence(block.text, page);
    case TextBlock::Kind::paragraph:
      return paragraph(block.text, page);
    case TextBlock::Kind::table:
    case TextBlock::Kind::drawing:
      return block.rows.text(room);
    case TextBlock::Kind::nothing:
      return block.text + "\n";
    case TextBlock::Kind::raw:
      return block.text;
  }
  return "";
}

std::string next_of(const Document& document, const Page& page) {
  if (!document.next()) return "";
  return next_command(document.next()->words, document.next()->file, page);
}

}  // namespace

void Document::add(TextBlock::Kind kind, std::string& text, ShownIn shown) {
  if (!text.empty()) blocks_.push_back({.kind = kind, .text = std::move(text), .shown = shown});
}

void Document::table(RowsBlock rows, ShownIn shown) {
  blocks_.push_back({.kind = TextBlock::Kind::table, .shown = shown, .rows = std::move(rows)});
}

void Document::drawing(RowsBlock rows, ShownIn shown) {
  blocks_.push_back({.kind = TextBlock::Kind::drawing, .shown = shown, .rows = std::move(rows)});
}

void Document::append(const Document& more, ShownIn shown) {
  for (const TextBlock& block : more.blocks_) {
    blocks_.push_back(block);
    blocks_.back().shown = both(block.shown, shown);
  }
  if (more.next_) next_ = more.next_;
}

bool Document::shows_nothing() const {
  return std::any_of(blocks_.begin(), blocks_.end(),
                     [](const TextBlock& block) { return block.kind == TextBlock::Kind::nothing; });
}

std::string render(const Document& document, const Page& page, const ScreenRoom& room,
                   const std::function<std::string(std::size_t)>& note_of) {
  std::string text;
  for (const TextBlock& block : document.blocks()) {
    if (block.shown.in(room)) text += text_of(block, page, room);
  }
  const std::string next = next_of(document, page);
  if (note_of) text += note_of(line_count(text) + line_count(next));
  return text + next;
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

DocumentSize::DocumentSize(const Document& document, const Page& page)
    : document_(document), next_(line_count(next_of(document, page))) {
  for (const TextBlock& block : document.blocks()) {
    lines_.push_back(block.rows.lines ? 0 : line_count(text_of(block, page, {})));
  }
}

std::size_t DocumentSize::lines(const ScreenRoom& room) const {
  std::size_t sum = next_;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const TextBlock& block = document_.blocks()[i];
    if (!block.shown.in(room)) continue;
    sum += block.rows.lines ? block.rows.lines(room) : lines_[i];
  }
  return sum;
}

}  // namespace vramscope
