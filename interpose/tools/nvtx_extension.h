// How NVTX shows an extension to a tool: types of NVTX 3.1 and later (nvtxDetail/nvtxExtTypes.h),
// which headers of CUDA 11 lack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope::nvtx {

struct Segment {
  std::size_t id;
  std::size_t slot_count;
  std::intptr_t* slots;  // 0: not initialised; a slot that nobody fills is switched off
};
struct Module {
  std::uint16_t version;
  std::uint16_t struct_size;
  std::uint16_t id;
  std::uint16_t compatibility;
  std::size_t segment_count;
  Segment* segments;
  std::intptr_t (*get_export)(std::uint32_t id);
  const void* information;
};

// Puts our function into a slot, and what was there, another tool's function or 0, into `other`.
template <class Function>
void fill(Segment& segment, std::size_t slot, Function function, std::intptr_t& other) {
  if (slot >= segment.slot_count) return;
  other = segment.slots[slot];
  segment.slots[slot] = reinterpret_cast<std::intptr_t>(function);
}

}  // namespace vramscope::nvtx
