// CuptiFacts is what NVIDIA's own interface for tools (CUPTI) saw of the process's memory, beside
// what we recorded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/ground/named_enum.h"
#include "allocator/ground/place.h"

namespace vramscope {

// A piece of memory of which the two do not say the same: not_recorded, the driver gave it, not
// through us; not_seen, we recorded it and CUPTI has no record; other_size.
#define VRAMSCOPE_DISAGREEMENTS(X) X(not_recorded) X(not_seen) X(other_size)
VRAMSCOPE_NAMED_ENUM(Disagreement, std::uint8_t, VRAMSCOPE_DISAGREEMENTS);

struct CuptiDifference {
  Disagreement what = Disagreement::not_recorded;
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t recorded_bytes = 0;  // 0: not recorded
  std::uint64_t cupti_bytes = 0;     // 0: not seen
  std::string source = {};           // the object that asked, as CUPTI says; "" unknown
};

// Who asked the driver, as CUPTI says: path of a shared object.
struct CuptiSource {
  std::string path;
  std::uint64_t live_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t total_count = 0;
};

struct CuptiFacts {
  std::uint64_t records = 0;             // of memory
  std::uint64_t dropped_records = 0;     // that CUPTI or we had no room for
  std::uint64_t confirmed_segments = 0;  // live in both, of the same bytes
  std::uint64_t confirmed_bytes = 0;
  std::uint64_t difference_count = 0;  // of all; the first of them are listed
  std::vector<CuptiDifference> differences;
  std::vector<CuptiSource> sources;  // the most in all first
  std::uint64_t pools_created = 0;
  std::uint64_t pools_destroyed = 0;
  std::uint64_t pools_trimmed = 0;
};

}  // namespace vramscope
