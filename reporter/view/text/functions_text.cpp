// The driver functions that the library intercepts.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/functions_text.h"

#include <iterator>
#include <string_view>

#include "reporter/record/event.h"
#include "reporter/view/text/json_text.h"

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

}  // namespace

std::string functions_text(const Page& page, std::size_t most) {
  using enum Table::Align;
  Table table({{"FUNCTION", left},
               {"ASKED AS", left, 3},
               {"SINCE", right, 2},
               {"PATH", left},
               {"EFFECT", left, 1},
               {"MEMORY", left}});
  for (std::size_t i = 0; i < rows_shown(std::size(kRows), most); ++i) {
    const Row& row = kRows[i];
    table.add({row.symbol, row.asked_as, version_text(row.since), row.path, row.effect,
               std::string(row.kind)});
  }
  return table.text(page) + table.left_out(page);
}

std::string functions_json(std::size_t most) {
  JsonText json;
  json.array();
  for (std::size_t i = 0; i < rows_shown(std::size(kRows), most); ++i) {
    const Row& row = kRows[i];
    json.object().field("symbol", row.symbol).field("asked_as", row.asked_as);
    json.field("since", row.since).field("per_thread", *row.stream != '\0');
    json.field("path", row.path).field("effect", row.effect).field("kind", row.kind).end();
  }
  return json.end().text();
}

}  // namespace vramscope
