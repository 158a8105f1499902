// The driver functions that the library intercepts.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/functions_text.h"

#include <iterator>

#include "reporter/base/event.h"

namespace vramscope {
namespace {

constexpr bool moves_memory(Effect effect) {
  using enum Effect;
  return effect == allocate || effect == release || effect == pin || effect == unpin;
}

constexpr InterceptedFunction kRows[] = {
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

constexpr std::string_view kPaths[] = {"routed", "direct", "bounded"};
constexpr std::string_view kEffects[] = {"none",  "allocate", "release", "pin",
                                         "unpin", "query",    "life"};

}  // namespace

Columns<InterceptedFunction> function_columns() {
  using Row = InterceptedFunction;
  return {{"symbol", "exported name", &Row::symbol, Titled("FUNCTION")},
          {"asked_as", "name under which programs look it up", &Row::asked_as,
           Titled("LOOKED UP AS", 3)},
          {"since", "version of CUDA: 11020 is 11.2", &Row::since, Titled("SINCE", 2),
           [](const Row& row) { return version_text(row.since); }},
          {"per_thread", "variant for per-thread default streams",
           [](const Row& row) { return *row.stream != '\0'; }},
          {"path", "who serves the call", &Row::path, Titled("PATH"), OneOf(kPaths)},
          {"effect", "effect on the record", &Row::effect, Titled("EFFECT", 1), OneOf(kEffects)},
          {"kind", "kind of memory that is allocated or freed; empty: none", &Row::kind,
           Titled("MEMORY")}};
}

std::vector<InterceptedFunction> function_rows() { return {std::begin(kRows), std::end(kRows)}; }

}  // namespace vramscope
