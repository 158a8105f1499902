// cupti_text() tells what CUPTI confirms of a report, and where it differs.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// A part of the report's text with its title; "" where CUPTI was not asked.
[[nodiscard]] std::string cupti_text(const Report& report, const Page& page);

}  // namespace vramscope
