// The driver functions that the library intercepts, from interpose/table/functions.def.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "reporter/view/listing/columns.h"

namespace vramscope {

struct InterceptedFunction {
  const char* symbol;
  const char* asked_as;
  int since;  // 11020 is 11.2
  const char* stream;
  const char* path;
  const char* effect;
  std::string_view kind;  // "" where no memory comes or goes
};
[[nodiscard]] Columns<InterceptedFunction> function_columns();
[[nodiscard]] std::vector<InterceptedFunction> function_rows();

}  // namespace vramscope
