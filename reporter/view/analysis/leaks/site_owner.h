// owner_of_site() says whose memory a call stack allocated.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "reporter/report/report.h"

namespace vramscope {

// Whose code asked at the site: the first object of its stack that does not only pass calls on.
// May throw bad_alloc.
[[nodiscard]] std::string owner_of_site(const Report& report, const Site& site);

// Whose code the frame is; "unknown" of generated code. `frame`: an index into the report's.
[[nodiscard]] std::string owner_of_frame(const Report& report, std::uint32_t frame);

}  // namespace vramscope
