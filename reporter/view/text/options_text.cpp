// The settings of the library as text, as JSON and as a table in Markdown.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/options_text.h"

#include <algorithm>

namespace vramscope {
namespace {

constexpr std::size_t kIndent = 6;

// A text that is wrapped to the page, each line of it indented.
std::string indented(const std::string& text, const Page& page) {
  const std::string margin(kIndent, ' ');
  std::string result = margin;
  for (const char c : wrapped(text, page.width - std::min(page.width, kIndent))) {
    result += c;
    if (c == '\n') result += margin;
  }
  return result + "\n";
}

// A cell of a Markdown table, in which a bar would begin the next one.
std::string cell(const std::string& text) {
  std::string result = "| ";
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result + " ";
}

std::string code(const std::string& text) { return text.empty() ? "empty" : "`" + text + "`"; }

}  // namespace

Columns<OptionRow> option_columns() {
  using Row = OptionRow;
  return {{"name", "of the setting", &Row::name},
          {"flag", "option of `run`", &Row::flag},
          {"variable", "of the environment", &Row::variable},
          {"default", "default value", &Row::default_value},
          {"takes", "values, in words", &Row::accepted},
          {"meaning", "what it does", &Row::sentence}};
}

std::string options_text(const std::vector<OptionRow>& rows, const Page& page) {
  std::string result;
  for (const OptionRow& row : rows) {
    const std::string usual = row.default_value.empty() ? "empty" : row.default_value;
    result += "  " + coloured(row.flag, Colour::bold, page) + ", " + row.variable + "\n";
    result += indented(row.sentence, page);
    result += indented("Takes " + row.accepted + "; default " + usual + ".", page);
  }
  return result;
}

std::string options_markdown(const std::vector<OptionRow>& rows) {
  std::string result =
      "| Option | Variable | Default | Takes | Meaning |\n"
      "|---|---|---|---|---|\n";
  for (const OptionRow& row : rows) {
    result += cell(code(row.flag)) + cell(code(row.variable)) + cell(code(row.default_value)) +
              cell(row.accepted) + cell(row.sentence) + "|\n";
  }
  return result;
}

}  // namespace vramscope
