// Numbers, tables and names as a person reads them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/format.h"

#include <algorithm>

namespace vramscope {
namespace {

constexpr std::string_view escape_of(Colour colour) {
  switch (colour) {
    case Colour::bold:
      return "\033[1m";
    case Colour::dim:
      return "\033[2m";
    case Colour::red:
      return "\033[31m";
    case Colour::yellow:
      return "\033[33m";
  }
  return "";
}

std::string padded(std::string text, std::size_t width, Table::Align align) {
  const std::size_t has = columns(text);
  const std::string fill(width > has ? width - has : 0, ' ');
  return align == Table::Align::left ? text + fill : fill + text;
}

constexpr std::size_t kGap = 2;    // between columns, and before the first
constexpr std::size_t kBelow = 4;  // columns before a last cell that stands below its row

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string coloured(std::string_view text, Colour colour, const Page& page) {
  if (!page.colour) return std::string(text);
  return std::string(escape_of(colour)) + std::string(text) + "\033[0m";
}

std::string and_more(std::uint64_t count, std::string_view noun) {
  return count == 0 ? "" : "  and " + counted(count, "more " + std::string(noun)) + "\n";
}

std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t cells, const Page& page) {
  const double share =
      whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
  auto filled = static_cast<std::size_t>(share * static_cast<double>(cells) + 0.5);
  if (part != 0 && whole != 0) filled = std::max<std::size_t>(filled, 1);
  std::string result;
  for (std::size_t i = 0; i < cells; ++i) {
    result += i < filled ? (page.unicode ? "\u2588" : "#") : (page.unicode ? "\u2591" : ".");
  }
  return result;
}

namespace {

// What a terminal must not get, or what is no UTF-8: as bash, ksh and zsh read it.
std::string escaped_word(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string result = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      result += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '\'' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + "'";
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-~";
  const bool plain =
      !text.empty() && text[0] != '~' && text.find_first_not_of(kPlain) == std::string_view::npos;
  if (plain) return std::string(text);
  if (harmless(text) != text) return escaped_word(text);
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string shell_path(std::string_view path, const Page& page) {
  const std::string word = path.starts_with('-') ? "./" + std::string(path) : std::string(path);
  return printable(word, page) == word ? shell_word(word) : escaped_word(word);
}

// See cannot_filter(). What these verbs show of traces takes every filter.
static bool takes(std::string_view verb, std::string_view option, const Page& page) {
  if (option.ends_with("suppress") || option.ends_with("suppressions")) return verb == "leaks";
  if (option == "--function") return verb == "calls" && page.of_trace;
  if (verb == "calls") return page.of_trace;
  if (verb == "trace" || verb == "map" || verb == "timeline") return true;
  const bool is_of_rows = verb == "peak" || verb == "leaks" || verb == "sites" || verb == "owners";
  if (page.of_trace && is_of_rows) return true;
  if (option == "--device") return true;
  if (verb == "stats") return false;
  if (option == "--site") return verb != "owners";
  return option == "--kind" || option == "--owner" || option == "--min-bytes";
}

std::string filters_for(std::string_view verb, const Page& page) {
  std::string words;
  for (const auto& [option, value] : page.filters) {
    if (!takes(verb, option, page)) continue;
    const bool is_plain = printable(value, page) == value;
    if (value.empty()) {
      words += option + " ";
    } else {
      words += option + " " + (is_plain ? shell_word(value) : escaped_word(value)) + " ";
    }
  }
  return words;
}

std::string followed_by(const std::string& what, const std::string& uncut, const Page& page) {
  const bool fits = !page.cuts || columns(what) + 1 + columns(uncut) <= page.width;
  return what + (fits ? " " : "\n  ") + uncut;
}

std::string part_title(std::string_view title, const Page& page) {
  return "\n" + coloured(fitted(title, page), Colour::bold, page) + "\n";
}

std::string next_command(std::string_view words, std::string_view path, const Page& page) {
  std::string line = "\nNext: vramscope ";
  line.append(words).append(" ").append(filters_for(words.substr(0, words.find(' ')), page));
  return line.append(shell_path(path, page)) + "\n";
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> result;
  for (const Column& column : columns_) result.push_back(columns(column.title));
  for (const std::vector<std::string>& row : rows_) {
    for (std::size_t i = 0; i < std::min(row.size(), columns_.size()); ++i)
      result[i] = std::max(result[i], columns(row[i]));
  }
  return result;
}

// Leaves columns out until they and `wanted` columns for the last one fit; gives what they take.
std::size_t Table::make_room(const std::vector<std::size_t>& wide, std::size_t width,
                             std::size_t wanted, std::vector<bool>& shown) const {
  std::size_t used = kGap;
  for (std::size_t i = 0; i + 1 < wide.size(); ++i) used += wide[i] + kGap;
  while (width < used - 1 + wanted) {  // the indentation may give one
    std::size_t first = columns_.size();
    for (std::size_t i = 0; i + 1 < columns_.size(); ++i) {
      const unsigned least = first == columns_.size() ? 0 : columns_[first].yields;
      if (shown[i] && columns_[i].yields > least) first = i;
    }
    if (first == columns_.size()) break;
    shown[first] = false;
    used -= wide[first] + kGap;
  }
  return used;
}

Table::Layout Table::layout(const Page& page) const {
  const std::vector<bool> all(columns_.size(), true);
  Layout result{.shown = all};
  if (!page.cuts) {
    result.room = kUncut;
    return result;
  }
  const std::vector<std::size_t> wide = widths();
  const std::size_t usual = kept_room_.value_or(std::min(kLeastRoom, wide.back()));
  const std::size_t wanted = last_ == Last::whole ? wide.back() : usual;
  std::size_t used = make_room(wide, page.width, wanted, result.shown);
  if (page.width + 1 == used + wanted) result.indent = 1;
  used -= kGap - result.indent;
  result.room = page.width > used ? page.width - used : 1;
  const bool is_below_all = last_ == Last::below_all && result.shown != all;
  const bool may_be_below =
      last_ == Last::below || last_ == Last::below_all || last_ == Last::whole;
  if (is_below_all || (may_be_below && result.room < wanted)) {
    result = {.shown = all, .room = page.width - std::min(page.width, kBelow), .below = true};
    (void)make_room(wide, page.width, 0, result.shown);
  }
  if (last_ == Last::whole) result.room = kUncut;
  return result;
}

std::size_t Table::room(const Page& page) const { return layout(page).room; }

void Table::fill_last(const Page& page,
                      const std::function<std::vector<std::string>(std::size_t)>& cells_in) {
  std::size_t widest = 0;
  for (const std::string& cell : cells_in(kUncut)) widest = std::max(widest, columns(cell));
  keep_room(widest);
  const std::vector<std::string> cells = cells_in(room(page));
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].push_back(printable(cells[i], page));
}

std::string Table::last_cell(std::string_view cell, std::size_t room, std::size_t margin) const {
  if (last_ != Last::wrapped) return fitted_stack(cell, room);
  std::string result;
  for (const char c : wrapped(cell, room)) {
    result += c;
    if (c == '\n') result.append(margin, ' ');
  }
  return result;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& wide,
                        const Layout& layout) const {
  std::string result(layout.indent, ' ');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!layout.shown[i]) continue;
    const std::string_view cell = i < cells.size() ? std::string_view(cells[i]) : "";
    const bool last = i + 1 == columns_.size() && columns_[i].align == Align::left;
    if (last && layout.below) {
      trim_right(result);
      result += (result.empty() ? "" : "\n") + std::string(kBelow, ' ');
    }
    result += last ? last_cell(cell, layout.room, columns(result))
                   : padded(std::string(cell), wide[i], columns_[i].align);
    result += "  ";
  }
  trim_right(result);
  return result;
}

std::string Table::text(const Page& page,
                        const std::function<std::string(std::size_t)>& below) const {
  const std::vector<std::size_t> wide = widths();
  const Layout shown = layout(page);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string result = coloured(line(titles, wide, shown), Colour::dim, page) + "\n";
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const bool is_heading = rows_[i].size() > columns_.size();
    result += is_heading ? fitted(std::string(shown.indent, ' ') + rows_[i].back(), page)
                         : line(rows_[i], wide, shown);
    result += "\n" + (below ? below(i) : "");
  }
  return result;
}

std::vector<std::string> Table::titles(const Page& page) const {
  const Layout shown = layout(page);
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (shown.shown[i]) titles.push_back(columns_[i].title);
  }
  return titles;
}

std::string Table::left_out(const Page& page) const {
  const Layout shown = layout(page);
  std::string names;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (shown.shown[i]) continue;
    names += (names.empty() ? "" : ", ") + columns_[i].title;
  }
  if (names.empty()) return "";
  return paragraph("No room for " + names + ": --wide shows all.", page);
}

}  // namespace vramscope
