// The report that the tests write, read and break.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reporter/base/event.h"
#include "reporter/report/parts.h"

namespace vramscope {

// Two devices, one of them unused; pinned and registered memory; sites, frames, every field set.
[[nodiscard]] ReportParts sample_parts();

// One of device 0, for the stack of tag 1, which the report of the parts has.
[[nodiscard]] Refusal sample_refusal();

}  // namespace vramscope
