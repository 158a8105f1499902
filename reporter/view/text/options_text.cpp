// The settings of the library as text, as JSON and as a table in Markdown.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/options_text.h"

#include <algorithm>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/view/text/json_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kIndent = 6;

std::vector<OptionRow> rows(std::size_t most) {
  std::vector<OptionRow> all = option_rows();
  if (most != 0 && most < all.size()) all.resize(most);
  return all;
}

// A text that is wrapped to the page, each line of it indented.
std::string paragraph(const std::string& text, const Page& page) {
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

std::string options_text(const Page& page, std::size_t most) {
  std::string result;
  for (const OptionRow& row : rows(most)) {
    const std::string usual = row.default_value.empty() ? "empty" : row.default_value;
    result += "  " + coloured(row.flag, Colour::bold, page) + ", " + row.variable + "\n";
    result += paragraph(row.sentence, page);
    result += paragraph("Takes " + row.accepted + "; default " + usual + ".", page);
  }
  return result;
}

std::string options_json(std::size_t most) {
  JsonText json;
  json.array();
  for (const OptionRow& row : rows(most)) {
    json.object().field("name", row.name).field("flag", row.flag).field("variable", row.variable);
    json.field("default", row.default_value).field("takes", row.accepted);
    json.field("meaning", row.sentence).end();
  }
  return json.end().text();
}

std::string options_markdown(std::size_t most) {
  std::string result =
      "| Option | Variable | Default | Takes | Meaning |\n"
      "|---|---|---|---|---|\n";
  for (const OptionRow& row : rows(most)) {
    result += cell(code(row.flag)) + cell(code(row.variable)) + cell(code(row.default_value)) +
              cell(row.accepted) + cell(row.sentence) + "|\n";
  }
  return result;
}

}  // namespace vramscope
