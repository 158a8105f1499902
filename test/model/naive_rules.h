// What the files of the judge share: see naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "test/model/naive_model.h"

namespace vramscope {

inline constexpr std::uint64_t kModelSmallLimit = 1 << 20;  // rounded sizes up to here: small pool

inline const std::vector<const char*> kHostKeys = {
    "allocated", "allocated_bytes", "segment", "reserved_bytes", "active_requests", "active_bytes"};

inline bool is_small_to_model(std::uint64_t size) { return size <= kModelSmallLimit; }

inline std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

inline Outcome model_refusal(Status status) {
  Outcome outcome;
  outcome.status = status;
  return outcome;
}

inline Outcome model_outcome(const ModelSegment& segment, const ModelBlock& block) {
  Outcome outcome;
  outcome.address = block.address;
  outcome.rounded = block.size;
  outcome.requested = block.requested;
  outcome.tag = block.tag;
  outcome.where = segment.place;
  return outcome;
}

}  // namespace vramscope
