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

std::string in_colour(const std::string& line, const TextBlock& block, const Page& page) {
  return (block.colour ? coloured(line, *block.colour, page) : line) + "\n";
}

std::string line_of(const TextBlock& block, const Page& page) {
  const std::string text = printable(block.text, page);
  if (block.uncut.empty()) return in_colour(text, block, page);
  return in_colour(followed_by(text, printable(block.uncut, page), page), block, page);
}

std::string sentence_of(const TextBlock& block, const Page& page) {
  const std::string text = printable(block.text, page);
  return block.colour ? sentence(text, *block.colour, page) : sentence(text, page);
}

std::string paragraph_of(const TextBlock& block, const Page& page) {
  const std::string text = printable(block.text, page);
  return block.colour ? paragraph(text, *block.colour, page) : paragraph(text, page);
}

std::string rows_of(const TextBlock& block, const Page& page, const ScreenRoom& room) {
  if (block.rows.text) return block.rows.text(room);
  if (!block.columns) return block.text;
  return block.columns->text(page) + block.text + block.columns->left_out(page);
}

std::string text_of(const TextBlock& block, const Page& page, const ScreenRoom& room) {
  switch (block.kind) {
    case TextBlock::Kind::heading:
      return in_colour(fitted(printable(block.text, page), page), block, page);
    case TextBlock::Kind::sentence:
      return sentence_of(block, page);
    case TextBlock::Kind::paragraph:
      return paragraph_of(block, page);
    case TextBlock::Kind::deeper:
      return paragraph(printable(block.text, page), page, 4);
    case TextBlock::Kind::line:
    case TextBlock::Kind::nothing:
      return line_of(block, page);
    case TextBlock::Kind::gap:
      return "\n";
    case TextBlock::Kind::table:
    case TextBlock::Kind::drawing:
      return rows_of(block, page, room);
  }
  return "";
}

std::string next_of(const Document& document, const Page& page) {
  const std::optional<Document::Next>& next = document.next();
  if (!next) return "";
  Page of_next = page;
  of_next.filters.insert(of_next.filters.end(), next->options.begin(), next->options.end());
  return next_command(next->words, next->file, of_next);
}

}  // namespace

void Document::table(Table rows, std::string below, ShownIn shown) {
  if (rows.empty()) return;
  blocks_.push_back({.kind = TextBlock::Kind::table,
                     .text = std::move(below),
                     .shown = shown,
                     .columns = std::make_shared<const Table>(std::move(rows))});
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
