// host_text() shows memory of the host, and kinds that are of no GPU, on the screen of a report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// Empty: there was none.
[[nodiscard]] Document host_text(const Report& report);

}  // namespace vramscope
