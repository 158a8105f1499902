// option_of() returns the value of an option with which a report was written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "reporter/report/report.h"

namespace vramscope {

// Returns "" if the report does not have the option.
[[nodiscard]] inline std::string_view option_of(const Report& report, std::string_view option) {
  for (const auto& [name, value] : report.process.options) {
    if (name == option) return value;
  }
  return {};
}

}  // namespace vramscope
