// named_memory_text() tells what lies in pools that the program named (NVTX).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/report/report.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// A part of the report's text with its title; nothing if the program named no pool.
[[nodiscard]] Document named_memory_text(const Report& report);

}  // namespace vramscope
