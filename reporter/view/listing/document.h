// A Document is a text as blocks: titles, paragraphs, tables, drawings, and the command that leads
// on. Each block says how little room may be left before it is shown no more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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
    sentence,
    paragraph,
    deeper,
    line,
    gap,
    table,
    drawing,
    nothing
  };
  Kind kind = Kind::drawing;
  std::string text = {};  // of a table what stands below its rows
  ShownIn shown = {};
  std::optional<Colour> colour = {};
  std::string uncut = {};                     // of a line
  std::shared_ptr<const Table> columns = {};  // of a table whose rows are always shown
  RowsBlock rows = {};                        // of another table or a drawing
};

// Texts end without a newline. Where they come from a file, what may control a terminal becomes '?'
// when they are rendered, but not in drawings. "" adds no block. What a block's functions refer to
// outlives it. Threads: one.
class Document {
 public:
  // A line in bold, cut at the page's edge.
  void heading(std::string text, ShownIn shown = {}) {
    add({.kind = TextBlock::Kind::heading,
         .text = std::move(text),
         .shown = shown,
         .colour = Colour::bold});
  }
  // In bold at the left edge, over as many lines as it needs.
  void title(std::string text, ShownIn shown = {}) {
    sentence(std::move(text), shown, Colour::bold);
  }
  // The same in plain letters, or in a colour.
  void sentence(std::string text, ShownIn shown = {}, std::optional<Colour> colour = {}) {
    add({.kind = TextBlock::Kind::sentence,
         .text = std::move(text),
         .shown = shown,
         .colour = colour});
  }
  // Indented.
  void paragraph(std::string text, ShownIn shown = {}, std::optional<Colour> colour = {}) {
    add({.kind = TextBlock::Kind::paragraph,
         .text = std::move(text),
         .shown = shown,
         .colour = colour});
  }
  // Indented by two columns more.
  void deeper(std::string text) { add({.kind = TextBlock::Kind::deeper, .text = std::move(text)}); }
  // As long as it is. `uncut`: a path or a command that it ends with, on a line of its own where
  // the page has no room for both.
  void line(std::string text, std::string uncut = "", std::optional<Colour> colour = {}) {
    add({.kind = TextBlock::Kind::line,
         .text = std::move(text),
         .colour = colour,
         .uncut = std::move(uncut)});
  }
  // Its rows, `below` as whole lines, and which columns were left out; of no rows no block.
  void table(Table rows, std::string below = "", ShownIn shown = {});
  void table(RowsBlock rows, ShownIn shown = {});
  void drawing(RowsBlock rows, ShownIn shown = {});
  // Whole lines as they are.
  void drawing(std::string lines, ShownIn shown = {}) {
    add({.kind = TextBlock::Kind::drawing, .text = std::move(lines), .shown = shown});
  }
  // A sentence that says of a filter that nothing passes.
  void nothing(std::string text) {
    add({.kind = TextBlock::Kind::nothing, .text = std::move(text)});
  }
  // An empty line.
  void gap(ShownIn shown = {}) {
    blocks_.push_back({.kind = TextBlock::Kind::gap, .shown = shown});
  }
  // The command that leads on: words behind "vramscope", options beside the page's filters, and the
  // file. It is last, whatever is added later.
  void next(std::string words, std::string file, TypedOptions options = {}) {
    next_ = {std::move(words), std::move(file), std::move(options)};
  }
  // The other's blocks, where they and `shown` allow; and its next command, if it has one.
  void append(const Document& more, ShownIn shown = {});
  // The same below an empty line, if it has blocks.
  void append_apart(const Document& more, ShownIn shown = {}) {
    if (!more.is_empty()) gap(shown);
    append(more, shown);
  }

  [[nodiscard]] bool is_empty() const { return blocks_.empty(); }
  // Whether it says of a filter that nothing passes.
  [[nodiscard]] bool shows_nothing() const;
  [[nodiscard]] const std::vector<TextBlock>& blocks() const { return blocks_; }

  struct Next {
    std::string words, file;
    TypedOptions options = {};
  };
  [[nodiscard]] const std::optional<Next>& next() const { return next_; }

 private:
  void add(TextBlock block) {
    if (!block.text.empty()) blocks_.push_back(std::move(block));
  }

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
