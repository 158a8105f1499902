// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/tune_candidates.h"

#include <algorithm>
#include <string_view>

namespace vramscope {
namespace {

using Segments = TuneCandidate::Segments;

// What people set: below the usual large request, and up to those of large models.
constexpr std::uint32_t kSplits[] = {32, 64, 128, 256, 512, 1024};
constexpr std::uint32_t kDivisions[] = {2, 4, 8, 16};
constexpr std::uint32_t kLargeSegments[] = {12, 32, 64};
constexpr Segments kSegments[] = {Segments::plain, Segments::expandable, Segments::growing};

// Of PyTorch: max_split_size_mb is above large_segment_size_mb, which is above 10.
constexpr std::uint32_t kUsualLargeSegment = 20;
constexpr std::uint32_t kAboveLargeSegment = 10;
constexpr std::uint32_t kMostDivisions = 64;

bool is_valid(const TuneCandidate& one) {
  const std::uint32_t large = one.large_segment_mb == 0 ? kUsualLargeSegment : one.large_segment_mb;
  return large > kAboveLargeSegment && (one.max_split_mb == 0 || one.max_split_mb > large) &&
         one.divisions != 1 && one.divisions <= kMostDivisions;
}

void add(std::vector<TuneCandidate>& list, TuneCandidate one) {
  if (is_valid(one) && std::ranges::count(list, one) == 0) list.push_back(one);
}

// The value itself is not among them; 0 becomes `first`.
std::vector<std::uint32_t> beside(std::uint32_t value, std::uint32_t first) {
  if (value == 0) return {first};
  return {0, value * 3 / 4, value * 3 / 2};
}

}  // namespace

std::string TuneCandidate::alloc_conf() const {
  std::string text;
  const auto append = [&](std::string_view name, const std::string& value) {
    text.append(text.empty() ? "" : ",").append(name).append(":").append(value);
  };
  if (segments == Segments::expandable) append("expandable_segments", "True");
  if (segments == Segments::growing) append("growing_segments", "True");
  if (max_split_mb != 0) append("max_split_size_mb", std::to_string(max_split_mb));
  if (divisions != 0) append("roundup_power2_divisions", std::to_string(divisions));
  if (large_segment_mb != 0) append("large_segment_size_mb", std::to_string(large_segment_mb));
  return text;
}

std::vector<TuneCandidate> tune_grid() {
  std::vector<TuneCandidate> grid;
  add(grid, {.policy = Policy::native_safe});
  for (const Segments segments : kSegments) {
    add(grid, {.segments = segments});
    for (const std::uint32_t split : kSplits) {
      add(grid, {.segments = segments, .max_split_mb = split});
    }
    for (const std::uint32_t divisions : kDivisions) {
      add(grid, {.segments = segments, .divisions = divisions});
    }
    for (const std::uint32_t large : kLargeSegments) {
      add(grid, {.segments = segments, .large_segment_mb = large});
    }
  }
  for (const std::uint32_t split : kSplits) {
    for (const std::uint32_t divisions : {4, 8}) {
      add(grid, {.max_split_mb = split, .divisions = divisions});
    }
  }
  return grid;
}

std::vector<TuneCandidate> tune_neighbours(const TuneCandidate& of) {
  std::vector<TuneCandidate> list;
  if (of.policy == Policy::native_safe) return list;
  const auto with = [&](auto TuneCandidate::*member, auto value) {
    TuneCandidate one = of;
    one.*member = value;
    if (!(one == of)) add(list, one);
  };
  for (const Segments segments : kSegments) with(&TuneCandidate::segments, segments);
  for (const std::uint32_t split : beside(of.max_split_mb, 128)) {
    with(&TuneCandidate::max_split_mb, split);
  }
  for (const std::uint32_t divisions : {of.divisions / 2, of.divisions * 2, 0U, 4U}) {
    with(&TuneCandidate::divisions, divisions);
  }
  for (const std::uint32_t large : beside(of.large_segment_mb, 32)) {
    with(&TuneCandidate::large_segment_mb, large);
  }
  return list;
}

std::size_t options_in(const std::string& alloc_conf) {
  if (alloc_conf.empty()) return 0;
  int depth = 0;  // lists in brackets have commas of their own
  std::size_t options = 1;
  for (const char c : alloc_conf) {
    depth += (c == '[') - (c == ']');
    options += c == ',' && depth == 0 ? 1 : 0;
  }
  return options;
}

bool is_of_pytorch(const std::string& alloc_conf) {
  return alloc_conf.find("growing_segments") == alloc_conf.npos &&
         alloc_conf.find("exact_fallback") == alloc_conf.npos;
}

}  // namespace vramscope
