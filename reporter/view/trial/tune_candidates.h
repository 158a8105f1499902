// TuneCandidate is one setting that tune tries: a policy and some options of the allocator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/base/limits.h"

namespace vramscope {

struct TuneCandidate {
  enum class Segments : std::uint8_t { plain, expandable, growing };

  Policy policy = Policy::pytorch;
  Segments segments = Segments::plain;
  std::uint32_t max_split_mb = 0;      // 0: not set, as the two below
  std::uint32_t divisions = 0;         // roundup_power2_divisions
  std::uint32_t large_segment_mb = 0;  // large_segment_size_mb

  // "name:value,name:value", as parse_alloc_conf() reads it.
  [[nodiscard]] std::string alloc_conf() const;
  friend bool operator==(const TuneCandidate&, const TuneCandidate&) = default;
};

// Where the search begins: each option alone with usual values, and each with each other. All of
// this file may throw bad_alloc.
[[nodiscard]] std::vector<TuneCandidate> tune_grid();

// What differs from the candidate in one option: one more, one less, or a value beside its own.
[[nodiscard]] std::vector<TuneCandidate> tune_neighbours(const TuneCandidate& of);

// How many options are set.
[[nodiscard]] std::size_t options_in(const std::string& alloc_conf);

// Whether PyTorch has every option that is set: growing_segments and exact_fallback are ours.
[[nodiscard]] bool is_of_pytorch(const std::string& alloc_conf);

}  // namespace vramscope
