// A Document is a text as blocks: titles, paragraphs, tables, drawings, and the command that leads
// on. Each block says how little room may be left before it is shown no more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/listing/format.h"

namespace vramscope {

// What a screen without room for all loses, besides rows; each with those before it. no_details:
// lines of source, and what is said of a part beside its figures.
enum class Brevity : std::uint8_t { none, no_details, no_repeats, no_bars, least };

// What a document may take.
struct ScreenRoom {
  static constexpr std::size_t kUsual = SIZE_MAX;
  Brevity brevity = Brevity::none;
  std::size_t rows = kUsual;  // of each listing at most

  // Of a listing that shows `usual` rows else; 0: all.
  [[nodiscard]] std::size_t most(std::size_t usual) const {
    if (rows == kUsual) return usual;
    return usual == 0 || rows < usual ? rows : usual;
  }
};

// The room in which a block is shown.
struct ShownIn {
  Brevity from = Brevity::none;
  Brevity to = Brevity::least;
  std::size_t least_rows = 0;  // of listings, where something is left out

  [[nodiscard]] bool in(const ScreenRoom& room) const {
    if (room.brevity < from || room.brevity > to) return false;
    return room.brevity == Brevity::none || room.rows >= least_rows;
  }
};
inline constexpr ShownIn kNever{.from = Brevity::least, .to = Brevity::none};
inline constexpr ShownIn kWhereAllIs{.to = Brevity::none};
inline constexpr ShownIn kWhereBrief{.from = Brevity::no_details};
inline constexpr ShownIn kUnlessRepeated{.to = Brevity::no_details};
inline constexpr ShownIn kWithBars{.to = Brevity::no_repeats};
inline constexpr ShownIn kWithoutBars{.from = Brevity::no_bars};

// Of a table or a drawing. Its lines are known without drawing it.
struct RowsBlock {
  std::function<std::string(const ScreenRoom&)> text;
  std::function<std::size_t(const ScreenRoom&)> lines;
};

struct TextBlock {
  enum class Kind : std::uint8_t {
    heading,
    title,
    sentence,
    paragraph,
    table,
    drawing,
    nothing,
    raw
  };
  Kind kind = Kind::raw;
  std::string text = {};  // printable; lines are broken when it is rendered, but of a raw one
  ShownIn shown = {};
  RowsBlock rows = {};  // of a table or a drawing, in place of the text
};

// Texts are printable, and end without a newline, but raw ones. "" adds no block. What a block's
// functions refer to outlives it. Threads: one.
class Document {
 public:
  Document() = default;
  // One that is a raw block.
  explicit Document(std::string text) { raw(std::move(text)); }

  // A line in bold, cut at the page's edge.
  void heading(std::string text) { add(TextBlock::Kind::heading, text, {}); }
  // In bold at the left edge, over as many lines as it needs.
  void title(std::string text, ShownIn shown = {}) { add(TextBlock::Kind::title, text, shown); }
  // The same in plain letters.
  void sentence(std::string text, ShownIn shown = {}) {
    add(TextBlock::Kind::sentence, text, shown);
  }
  // Indented.
  void paragraph(std::string text, ShownIn shown = {}) {
    add(TextBlock::Kind::paragraph, text, shown);
  }
  void table(RowsBlock rows, ShownIn shown = {});
  void drawing(RowsBlock rows, ShownIn shown = {});
  // A sentence that says of a filter that nothing passes.
  void nothing(std::string text) { add(TextBlock::Kind::nothing, text, {}); }
  // Lines as they are.
  void raw(std::string text, ShownIn shown = {}) { add(TextBlock::Kind::raw, text, shown); }
  // An empty line.
  void gap(ShownIn shown = {}) { raw("\n", shown); }
  // The command that leads on: words behind "vramscope", and the file. It is last, whatever is
  // added later.
  void next(std::string words, std::string file) { next_ = {std::move(words), std::move(file)}; }
  // The other's blocks, where they and `shown` allow; and its next command, if it has one.
  void append(const Document& more, ShownIn shown = {});

  [[nodiscard]] bool is_empty() const { return blocks_.empty(); }
  // Whether it says of a filter that nothing passes.
  [[nodiscard]] bool shows_nothing() const;
  [[nodiscard]] const std::vector<TextBlock>& blocks() const { return blocks_; }

  struct Next {
    std::string words, file;
  };
  [[nodiscard]] const std::optional<Next>& next() const { return next_; }

 private:
  void add(TextBlock::Kind kind, std::string& text, ShownIn shown);

  std::vector<TextBlock> blocks_;
  std::optional<Next> next_;
};

// All of it, or as much as a room has. The page is that for which the blocks were made. note_of:
// gives lines that stand before the next command, of how many lines the text has without them.
[[nodiscard]] std::string render(const Document& document, const Page& page,
                                 const ScreenRoom& room = {},
                                 const std::function<std::string(std::size_t)>& note_of = {});

// How many lines the document takes in different rooms; no table is drawn for that.
class DocumentSize {
 public:
  // The document outlives it.
  DocumentSize(const Document& document, const Page& page);
  [[nodiscard]] std::size_t lines(const ScreenRoom& room) const;

 private:
  const Document& document_;
  std::vector<std::size_t> lines_;  // of each block that is no table
  std::size_t next_ = 0;
};

[[nodiscard]] std::size_t line_count(const std::string& text);

}  // namespace vramscope
