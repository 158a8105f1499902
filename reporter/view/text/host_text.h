// host_text() shows memory of the host, and kinds that are of no GPU, on the screen of a report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/listing/format.h"

namespace vramscope {

struct Report;

// "": there was none. Ends with a newline.
[[nodiscard]] std::string host_text(const Report& report, const Page& page);

}  // namespace vramscope
