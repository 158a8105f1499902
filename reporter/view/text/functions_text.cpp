// The driver functions that the library intercepts.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/functions_text.h"

#include <iterator>
#include <string_view>

#include "reporter/ground/event.h"
#include "reporter/view/listing/columns.h"

namespace vramscope {
namespace {

constexpr bool moves_memory(Effect effect) {
  using enum Effect;
  return effect == allocate || effect == release || effect == pin || effect == unpin;
}

struct Row {
  const char* symbol;
  const char* asked_as;
  int since;
  const char* stream;
  const char* path;
  const char* effect;
  std::string_view kind;  // "" where no memory comes or goes
};

constexpr Row kRows[] = {
#define DRIVER_FUNCTION(symbol, asked_as, since, stream, parameters, arguments, path, effect, \
                        kind, address, bytes)                                                 \
  {#symbol, #asked_as, since, #stream, #path, #effect, moves_memory(Effect::effect) ? #kind : ""},
#include "interpose/table/functions.def"
#undef DRIVER_FUNCTION
};

// 11020 is 11.2.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Columns<Row> row_columns() {
  return {{"symbol", [](const Row& row) { return std::string(row.symbol); }},
          {"asked_as", [](const Row& row) { return std::string(row.asked_as); }},
          {"since", [](const Row& row) { return std::int64_t{row.since}; }},
          {"per_thread", [](const Row& row) { return *row.stream != '\0'; }},
          {"path", [](const Row& row) { return std::string(row.path); }},
          {"effect", [](const Row& row) { return std::string(row.effect); }},
          {"kind", [](const Row& row) { return std::string(row.kind); }}};
}

std::vector<Row> rows(const RowChoice& choice) {
  std::vector<Row> all(std::begin(kRows), std::end(kRows));
  arrange(all, row_columns(), choice);
  all.resize(rows_shown(all.size(), choice.most));
  return all;
}

}  // namespace

std::string functions_text(const Page& page, const RowChoice& choice) {
  using enum Table::Align;
  Table table({{"FUNCTION", left},
               {"ASKED AS", left, 3},
               {"SINCE", right, 2},
               {"PATH", left},
               {"EFFECT", left, 1},
               {"MEMORY", left}});
  for (const Row& row : rows(choice)) {
    table.add({row.symbol, row.asked_as, version_text(row.since), row.path, row.effect,
               std::string(row.kind)});
  }
  return table.text(page) + table.left_out(page);
}

std::string functions_json(const RowChoice& choice) {
  JsonText json;
  add_objects(json.array(), rows(choice), row_columns(), choice.most);
  return json.end().text();
}

void add_functions_csv(CsvText& csv, const RowChoice& choice) {
  add_rows(csv, rows(choice), row_columns(), choice.most);
}

std::vector<std::string> function_columns() { return names_of(row_columns()); }

}  // namespace vramscope
