// NamedMemory is what programs told of their own pools by NVTX's memory extension
// (nvToolsExtMem.h): heaps, and the regions that they gave out of them, with names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramscope {

// The regions of one heap that have one name.
struct NamedRegions {
  std::string name;              // "": they have none
  std::uint64_t live_bytes = 0;  // of those that are registered now
  std::uint64_t live_count = 0;
  std::uint64_t peak_bytes = 0;  // highest value of live_bytes
  std::uint64_t total_count = 0;
};

struct NamedHeap {
  std::string name;           // "domain:name", or "name" in the default domain; "": it has none
  std::uint64_t address = 0;  // 0: the whole address space
  std::uint64_t bytes = 0;
  bool is_live = false;       // registered when the report was made
  NamedRegions regions = {};  // all of them, without a name
  std::vector<NamedRegions> names = {};
};

struct NamedMemory {
  std::vector<NamedHeap> heaps;
  std::uint64_t left_out = 0;  // heaps and names beyond what is kept
};

}  // namespace vramscope
