// read_record() translates CUPTI's memory records to CuptiRecord, which needs no CUPTI header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef VRAMSCOPE_HAS_CUPTI

// Includes cuda.h with the names of all versions, as the sources expect that are compiled together
// with one that includes CUPTI's header.
#include "interpose/table/functions.h"

#include <cupti_activity.h>

#include <optional>

#include "interpose/tools/cupti_memory.h"

namespace vramscope {

// Returns nothing if it is no memory record that we know. has_source: the library's records have
// the field that names the requester; older ones end before it. CUPTI owns the source's text, which
// lives as long as the library.
[[nodiscard]] std::optional<CuptiRecord> read_record(const CUpti_Activity& activity,
                                                     bool has_source) noexcept;

}  // namespace vramscope

#endif
