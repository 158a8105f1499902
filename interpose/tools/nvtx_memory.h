// Memory that programs name (NVTX's memory extension): pools of their own, and what lies in them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "interpose/tools/nvtx_extension.h"
#include "reporter/report/named_memory.h"

namespace vramscope {

inline constexpr std::uint16_t kMemoryExtension = 1;  // its number (NVTX_EXT_MODULEID_MEM)

// Puts our functions into the extension's slots, after the user's own library had its turn. May
// throw bad_alloc. Threads: any.
void take_memory_extension(ExtensionSegment& segment);

// Returns what the program has named so far; nothing if it named nothing. May throw bad_alloc.
// Threads: any.
[[nodiscard]] std::optional<NamedMemory> named_memory();

}  // namespace vramscope
