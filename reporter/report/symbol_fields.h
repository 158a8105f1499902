// Lists the JSON fields of SymbolFacts, as fields.h does for the rest of the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/field_forms.h"
#include "reporter/report/symbol_facts.h"

namespace vramscope {

template <IsOne<FunctionSymbol> Self, class F>
void visit_fields(Self& function, F&& f) {
  f.required("name", function.name);
  f("file", OrNull{function.file, kNoFile});
  f("line", function.line);
  f("is_inlined", function.is_inlined);
}

template <IsOne<FrameSymbols> Self, class F>
void visit_fields(Self& named, F&& f) {
  f.required("frame", named.frame);
  f("functions", named.functions);
}

template <IsOne<SymbolFacts> Self, class F>
void visit_fields(Self& symbols, F&& f) {
  f("names", symbols.names);
  f("files", symbols.files);
  f("frames", symbols.frames);
}

}  // namespace vramscope
