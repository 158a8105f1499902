// The settings of the library as text, as JSON and as a table in Markdown.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/options_text.h"

#include <algorithm>
#include <vector>

#include "interpose/settings/options.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {
namespace {

constexpr std::size_t kIndent = 6;

Columns<OptionRow> option_row_columns() {
  return {{"name", [](const OptionRow& row) { return std::string(row.name); }},
          {"flag", [](const OptionRow& row) { return std::string(row.flag); }},
          {"variable", [](const OptionRow& row) { return std::string(row.variable); }},
          {"default", [](const OptionRow& row) { return std::string(row.default_value); }},
          {"takes", [](const OptionRow& row) { return std::string(row.accepted); }},
          {"meaning", [](const OptionRow& row) { return std::string(row.sentence); }}};
}

std::vector<OptionRow> rows(const RowChoice& choice) {
  std::vector<OptionRow> all = option_rows();
  arrange(all, option_row_columns(), choice);
  all.resize(rows_shown(all.size(), choice.most));
  return all;
}

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

std::string options_text(const Page& page, const RowChoice& choice) {
  std::string result;
  for (const OptionRow& row : rows(choice)) {
    const std::string usual = row.default_value.empty() ? "empty" : row.default_value;
    result += "  " + coloured(row.flag, Colour::bold, page) + ", " + row.variable + "\n";
    result += indented(row.sentence, page);
    result += indented("Takes " + row.accepted + "; default " + usual + ".", page);
  }
  return result;
}

std::string options_json(const RowChoice& choice) {
  JsonText json;
  add_objects(json.array(), rows(choice), option_row_columns(), choice.most);
  return json.end().text();
}

void add_options_csv(CsvText& csv, const RowChoice& choice) {
  add_rows(csv, rows(choice), option_row_columns(), choice.most);
}

std::vector<std::string> option_columns() { return names_of(option_row_columns()); }

std::string options_markdown(const RowChoice& choice) {
  std::string result =
      "| Option | Variable | Default | Takes | Meaning |\n"
      "|---|---|---|---|---|\n";
  for (const OptionRow& row : rows(choice)) {
    result += cell(code(row.flag)) + cell(code(row.variable)) + cell(code(row.default_value)) +
              cell(row.accepted) + cell(row.sentence) + "|\n";
  }
  return result;
}

}  // namespace vramscope
