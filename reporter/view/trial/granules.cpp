// Chooses addresses: of granules, and in 512-byte steps inside the chunks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/granules.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace vramscope::simulator {
namespace {

// An H200's driver (580.159.04), as the addresses of 92 allocations show.
constexpr std::uint64_t kSlab = std::uint64_t{32} << 20;

}  // namespace

Granules::Granules(Address base, std::uint64_t capacity, Footprint footprint)
    : capacity_(capacity), footprint_(footprint), untouched_from_(base), untouched_to_(base) {
  assert(base % kGranule == 0);
  if (footprint_.placement == Placement::slabs) {
    untouched_to_ = (base + addresses_for(capacity)) / kSlab * kSlab;
    untouched_to_ = std::max(untouched_to_, base);
  }
  const std::uint64_t rest = base + addresses_for(capacity) - untouched_to_;
  if (rest != 0) free_granules_[untouched_to_] = rest;
}

std::optional<Address> Granules::take(std::uint64_t bytes, Owner owner) {
  if (!shares_a_granule(bytes)) return take_granules(bytes);
  const std::uint64_t rounded = round_up(bytes, kSmallAlignment);
  if (const auto start = take_in_chunks(rounded, owner)) return start;
  const auto granule = take_granules(kGranule);
  if (!granule) return std::nullopt;
  Chunk& chunk = chunks_[*granule];
  chunk.owner = owner;
  chunk.free[*granule] = kGranule;
  return first_fit(chunk.free, rounded);
}

// In the lowest hole that is large enough, or in the lowest of the smallest ones.
std::optional<Address> Granules::take_in_chunks(std::uint64_t bytes, Owner owner) {
  Chunk* chosen = nullptr;
  Ranges::iterator hole;
  for (auto& [granule, chunk] : chunks_) {
    if (chunk.owner != owner) continue;
    for (auto range = chunk.free.begin(); range != chunk.free.end(); ++range) {
      const bool is_better = chosen == nullptr || range->second < hole->second;
      if (range->second < bytes || !is_better) continue;
      chosen = &chunk;
      hole = range;
      if (footprint_.small_fit == Fit::first) return cut(chunk.free, hole, bytes);
    }
  }
  if (chosen == nullptr) return std::nullopt;
  return cut(chosen->free, hole, bytes);
}

void Granules::give(Address start, std::uint64_t bytes) {
  if (!shares_a_granule(bytes)) {
    put_back(free_granules_, start, round_up(bytes, kGranule));
    used_ -= round_up(bytes, kGranule);
    return;
  }
  const auto chunk = chunks_.find(start / kGranule * kGranule);
  assert(chunk != chunks_.end());
  put_back(chunk->second.free, start, round_up(bytes, kSmallAlignment));
  if (chunk->second.is_empty() && !is_kept(chunk->second)) give_back(chunk);
}

// `empty` has just become so.
bool Granules::is_kept(const Chunk& empty) const {
  if (footprint_.empty_chunks == EmptyChunks::kept) return true;
  if (footprint_.empty_chunks == EmptyChunks::given_back) return false;
  return std::none_of(chunks_.begin(), chunks_.end(), [&](const auto& other) {
    return &other.second != &empty && other.second.owner == empty.owner && other.second.is_empty();
  });
}

void Granules::end(Owner owner) {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
    const bool goes = chunk->second.owner == owner && chunk->second.is_empty();
    chunk = goes ? give_back(chunk) : std::next(chunk);
  }
}

Granules::Chunks::iterator Granules::give_back(Chunks::iterator chunk) {
  put_back(free_granules_, chunk->first, kGranule);
  used_ -= kGranule;
  return chunks_.erase(chunk);
}

std::optional<Address> Granules::take_granules(std::uint64_t bytes) {
  if (bytes > capacity_ - used_) return std::nullopt;  // before rounding: huge sizes must not wrap
  const std::uint64_t rounded = round_up(bytes, kGranule);
  if (rounded > capacity_ - used_) return std::nullopt;
  const auto start = footprint_.placement == Placement::slabs ? take_in_slabs(rounded)
                                                              : first_fit(free_granules_, rounded);
  if (start) used_ += rounded;
  return start;
}

std::optional<Address> Granules::take_in_slabs(std::uint64_t bytes) {
  if (const auto start = best_fit(free_granules_, bytes)) return start;
  const std::uint64_t slab = round_up(bytes, kSlab);
  const bool fits = slab <= untouched_to_ - untouched_from_;
  const Address end = std::exchange(untouched_to_, fits ? untouched_to_ - slab : untouched_from_);
  if (end == untouched_to_) return std::nullopt;
  put_back(free_granules_, untouched_to_, end - untouched_to_);
  return fits ? cut(free_granules_, free_granules_.find(untouched_to_), bytes)
              : best_fit(free_granules_, bytes);
}

std::optional<Address> Granules::best_fit(Ranges& ranges, std::uint64_t bytes) {
  auto best = ranges.end();
  for (auto range = ranges.begin(); range != ranges.end(); ++range) {
    const bool is_better = best == ranges.end() || range->second < best->second;
    if (range->second >= bytes && is_better) best = range;
  }
  if (best == ranges.end()) return std::nullopt;
  return cut(ranges, best, bytes);
}

std::optional<Address> Granules::first_fit(Ranges& ranges, std::uint64_t bytes) {
  for (auto range = ranges.begin(); range != ranges.end(); ++range) {
    if (range->second >= bytes) return cut(ranges, range, bytes);
  }
  return std::nullopt;
}

Address Granules::cut(Ranges& ranges, Ranges::iterator range, std::uint64_t bytes) {
  const auto [start, size] = *range;
  ranges.erase(range);
  if (size > bytes) ranges[start + bytes] = size - bytes;
  return start;
}

void Granules::put_back(Ranges& ranges, Address start, std::uint64_t bytes) {
  auto range = ranges.emplace(start, bytes).first;
  const auto next = std::next(range);
  if (next != ranges.end() && next->first == start + bytes) {
    range->second += next->second;
    ranges.erase(next);
  }
  if (range == ranges.begin()) return;
  const auto previous = std::prev(range);
  if (previous->first + previous->second != start) return;
  previous->second += range->second;
  ranges.erase(range);
}

}  // namespace vramscope::simulator
