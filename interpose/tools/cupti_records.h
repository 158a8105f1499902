// CUPTI's records of memory, translated into CuptiRecord, which needs no header of CUPTI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef VRAMSCOPE_HAS_CUPTI

#include <cupti_activity.h>

#include <optional>

#include "interpose/tools/cupti_memory.h"

namespace vramscope {

// Null: it is no record of memory that we know. has_source: the library tells who asked (its
// records have that field, which older ones end before). The source's text is CUPTI's own and
// lives as long as the library.
[[nodiscard]] std::optional<CuptiRecord> read_record(const CUpti_Activity& activity,
                                                     bool has_source) noexcept;

}  // namespace vramscope

#endif
