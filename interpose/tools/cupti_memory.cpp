// SPDX-License-Identifier: Apache-2.0
#include "interpose/tools/cupti_memory.h"

#include <algorithm>
#include <tuple>

namespace vramscope {

namespace {

// Whether CUPTI reports a kind with the same address and size as we do. It reports arrays and
// physical memory differently, and registered memory not at all.
bool is_comparable(Kind kind) {
  return kind == Kind::device || kind == Kind::pinned || kind == Kind::managed ||
         kind == Kind::stream_ordered;
}

using Segments = std::map<std::uint64_t, const SegmentSnapshot*>;

// Whether recorded memory of another kind lies here, since CUPTI's device memory may be a mapping
// of ours.
bool is_inside(const Segments& segments, std::uint64_t address) {
  auto after = segments.upper_bound(address);
  if (after == segments.begin()) return false;
  const SegmentSnapshot& segment = *std::prev(after)->second;
  return address - segment.address < segment.total_size;
}

void add(CuptiFacts& facts, CuptiDifference difference) {
  ++facts.difference_count;
  if (facts.differences.size() < CuptiMemory::kMaxDifferences) {
    facts.differences.push_back(std::move(difference));
  }
}

}  // namespace

CuptiMemory::Sources::value_type* CuptiMemory::source_of(std::string_view path) {
  const auto known = sources_.find(path);
  if (known != sources_.end()) return &*known;
  if (sources_.size() >= kMaxSources) path = "others";
  return &*sources_.try_emplace(std::string(path)).first;
}

void CuptiMemory::allocate(const CuptiRecord& record) {
  Sources::value_type* const source = source_of(record.source);
  source->second.total_bytes += record.bytes;
  source->second.total_count += 1;
  const auto released = early_releases_.find(record.address);
  if (released != early_releases_.end()) {
    if (--released->second == 0) early_releases_.erase(released);
    return;
  }
  if (live_.size() >= kMaxLive) {
    ++dropped_;
    return;
  }
  const auto [entry, is_new] = live_.try_emplace(record.address);
  if (!is_new) {  // its end was not recorded: the context ended, or a record was dropped
    entry->second.source->second.live_bytes -= entry->second.record.bytes;
  }
  entry->second = {.record = record, .source = source};
  entry->second.record.source = {};
  source->second.live_bytes += record.bytes;
}

void CuptiMemory::release(const CuptiRecord& record) {
  const auto found = live_.find(record.address);
  if (found == live_.end()) {
    if (early_releases_.size() < kMaxLive) ++early_releases_[record.address];
    return;
  }
  found->second.source->second.live_bytes -= found->second.record.bytes;
  live_.erase(found);
}

void CuptiMemory::take(const CuptiRecord& record) {
  ++records_;
  switch (record.what) {
    case CuptiRecord::What::allocation:
      return allocate(record);
    case CuptiRecord::What::release:
      return release(record);
    case CuptiRecord::What::pool_created:
      ++pools_created_;
      break;
    case CuptiRecord::What::pool_destroyed:
      ++pools_destroyed_;
      break;
    case CuptiRecord::What::pool_trimmed:
      ++pools_trimmed_;
      break;
  }
}

CuptiFacts CuptiMemory::compare(const Snapshot& memory) const {
  CuptiFacts facts;
  facts.records = records_;
  facts.dropped_records = dropped_;
  facts.pools_created = pools_created_;
  facts.pools_destroyed = pools_destroyed_;
  facts.pools_trimmed = pools_trimmed_;
  Segments all;
  for (const SegmentSnapshot& segment : memory.segments) {
    all[segment.address] = &segment;
    if (!is_comparable(segment.place.kind)) continue;
    const auto found = live_.find(segment.address);
    const std::uint64_t seen = found == live_.end() ? 0 : found->second.record.bytes;
    if (seen == segment.total_size) {
      ++facts.confirmed_segments;
      facts.confirmed_bytes += seen;
      continue;
    }
    add(facts, {.what = seen == 0 ? Disagreement::not_seen : Disagreement::other_size,
                .kind = segment.place.kind,
                .device = segment.place.device,
                .address = segment.address,
                .recorded_bytes = segment.total_size,
                .cupti_bytes = seen,
                .source = seen == 0 ? std::string() : found->second.source->first});
  }
  for (const auto& [address, live] : live_) {
    if (!is_comparable(live.record.kind) || is_inside(all, address)) continue;
    add(facts, {.what = Disagreement::not_recorded,
                .kind = live.record.kind,
                .device = live.record.device,
                .address = address,
                .recorded_bytes = 0,
                .cupti_bytes = live.record.bytes,
                .source = live.source->first});
  }
  for (const auto& [path, source] : sources_) {
    facts.sources.push_back({.path = path,
                             .live_bytes = source.live_bytes,
                             .total_bytes = source.total_bytes,
                             .total_count = source.total_count});
  }
  std::stable_sort(
      facts.sources.begin(), facts.sources.end(),
      [](const CuptiSource& a, const CuptiSource& b) { return a.total_bytes > b.total_bytes; });
  return facts;
}

}  // namespace vramscope
