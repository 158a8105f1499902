// option_of() gives the value of an option that a report was written with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "reporter/report/report.h"

namespace vramscope {

// "": the report does not have it.
[[nodiscard]] inline std::string_view option_of(const Report& report, std::string_view option) {
  for (const auto& [name, value] : report.process.options) {
    if (name == option) return value;
  }
  return {};
}

}  // namespace vramscope
