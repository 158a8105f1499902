// cupti_text() tells what CUPTI confirms of a report, and where it differs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/report.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// A part of the report's text with its title; nothing where CUPTI was not asked.
[[nodiscard]] Document cupti_text(const Report& report);

}  // namespace vramscope
