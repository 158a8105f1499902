// CuptiFacts is what NVIDIA's own interface for tools (CUPTI) saw of the process's memory, for
// comparison with what we recorded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "allocator/base/place.h"

namespace vramscope {

// How the two disagree about a piece of memory. not_recorded: the driver gave it without our seeing
// it. not_seen: we recorded it and CUPTI has no record. other_size: the sizes differ.
#define VRAMSCOPE_DISAGREEMENTS(X) X(not_recorded) X(not_seen) X(other_size)
VRAMSCOPE_NAMED_ENUM(Disagreement, std::uint8_t, VRAMSCOPE_DISAGREEMENTS);

struct CuptiDifference {
  Disagreement what = Disagreement::not_recorded;
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t recorded_bytes = 0;  // 0: we did not record it
  std::uint64_t cupti_bytes = 0;     // 0: CUPTI did not see it
  std::string source = {};           // the object that asked, according to CUPTI; "": unknown
};

// An object that asked the driver, according to CUPTI: the path of a shared object.
struct CuptiSource {
  std::string path;
  std::uint64_t live_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t total_count = 0;
};

struct CuptiFacts {
  std::uint64_t records = 0;             // of memory operations
  std::uint64_t dropped_records = 0;     // lost because CUPTI or we had no room
  std::uint64_t confirmed_segments = 0;  // live in both, with equal sizes
  std::uint64_t confirmed_bytes = 0;
  std::uint64_t difference_count = 0;  // of all; only the first ones are listed
  std::vector<CuptiDifference> differences;
  std::vector<CuptiSource> sources;  // the largest total first
  std::uint64_t pools_created = 0;
  std::uint64_t pools_destroyed = 0;
  std::uint64_t pools_trimmed = 0;
};

}  // namespace vramscope
