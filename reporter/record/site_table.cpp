// Interns frames, sites and tags.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/site_table.h"

#include <algorithm>
#include <utility>

#include "reporter/record/stack/hash.h"

namespace vramscope {

std::size_t SiteTable::FrameHash::operator()(const FrameFact& frame) const noexcept {
  return mix(mix(kHashSeed, frame.module, frame.code), frame.offset, frame.line);
}

SiteTable::SiteTable(std::size_t max_tags) : max_tags_(max_tags) {
  sites_.resize(kLeftOutSite + 1);
  tags_.emplace_back();
}

std::uint32_t SiteTable::frame_index(const FrameFact& frame) {
  const auto known = frame_indices_.find(frame);
  if (known != frame_indices_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back(frame);
  frame_indices_.emplace(frame, index);
  return index;
}

std::uint32_t SiteTable::site_index(std::vector<std::uint32_t> frames) {
  if (frames.empty()) return kUnknownSite;
  std::uint64_t hash = kHashSeed;
  for (const std::uint32_t frame : frames) hash = mix(hash, frame);
  const auto [first, last] = site_indices_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    if (sites_[known->second].frames == frames) return known->second;
  }
  const auto index = static_cast<std::uint32_t>(sites_.size());
  sites_.push_back({std::move(frames)});
  site_indices_.emplace(hash, index);
  return index;
}

std::uint32_t SiteTable::owner_index(const std::string& owner) {
  const auto known = std::find(owners_.begin(), owners_.end(), owner);
  if (known != owners_.end()) return static_cast<std::uint32_t>(known - owners_.begin());
  owners_.push_back(owner);
  return static_cast<std::uint32_t>(owners_.size() - 1);
}

Groups SiteTable::groups_of(const AxisValues& values, Place place) {
  Groups groups{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const bool is_optional = axis == static_cast<std::size_t>(Axis::stream) ||
                             axis == static_cast<std::size_t>(Axis::range);
    if (is_optional && values[axis] == 0) continue;  // the usual case: no time for its own peak
    const std::uint64_t key = std::uint64_t{values[axis]} << 32 | std::uint64_t(place.kind) << 24 |
                              std::uint64_t{place.device} << 8 | axis;
    const auto next = static_cast<Group>(groups_.size() + 1);
    groups[axis] = groups_.try_emplace(key, next).first->second;
  }
  return groups;
}

TagGroups SiteTable::tag(const std::vector<FrameFact>& frames, const std::string& owner,
                         Origin origin) {
  const SystemLock guard(lock_);
  if (tags_.size() >= max_tags_) return {};
  if (tags_.size() >= max_tags_ - max_tags_ / 4) {
    origin.thread = origin.stream = origin.range = kOtherValue;
    if (origin.sampling != Sampling::taken) origin.size_class = 0;  // samples are scaled by it
  }
  const Place place{.kind = origin.place.kind, .device = origin.place.device, .context = 0};
  const AxisValues values{owner_index(owner), origin.thread,   origin.stream,
                          origin.range,       origin.function, origin.size_class};
  std::vector<std::uint32_t> indices;
  indices.reserve(frames.size());
  for (const FrameFact& frame : frames) indices.push_back(frame_index(frame));
  const bool left_out = origin.sampling == Sampling::left_out;
  const std::uint32_t site = left_out ? kLeftOutSite : site_index(std::move(indices));
  const std::uint64_t key =
      std::uint64_t{site} << 32 | std::uint64_t(place.kind) << 16 | place.device;
  const auto known = tag_indices_.find({key, values});
  if (known != tag_indices_.end()) return {known->second, tags_[known->second].groups};
  const auto tag = static_cast<Tag>(tags_.size());
  const Groups groups = groups_of(values, place);
  tags_.push_back({.site = site,
                   .place = place,
                   .values = values,
                   .groups = groups,
                   .total_ns = 0,
                   .temporary = 0,
                   .sampling = origin.sampling});
  tag_indices_.emplace(std::pair(key, values), tag);
  return {tag, groups};
}

std::size_t SiteTable::tag_count() const {
  const SystemLock guard(lock_);
  return tags_.size();
}

void SiteTable::copy_to(RecorderFacts& facts, const KnownNames& known) const {
  const SystemLock guard(lock_);
  facts.frames = rows_from(frames_, known.frames);
  facts.sites = rows_from(sites_, known.sites);
  facts.tags = rows_from(tags_, known.tags);
  facts.owners = rows_from(owners_, known.owners);
}

}  // namespace vramscope
