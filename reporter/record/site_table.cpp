// Interns frames, sites and tags.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/site_table.h"

#include <utility>

#include "reporter/record/hash.h"

namespace vramscope {

std::size_t SiteTable::FrameHash::operator()(const FrameFact& frame) const noexcept {
  return mix(mix(kHashSeed, frame.module), frame.offset);
}

SiteTable::SiteTable(std::size_t max_tags) : max_tags_(max_tags) {
  sites_.emplace_back();  // of the unknown tag
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
  if (frames.empty()) return 0;
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

Tag SiteTable::tag(const std::vector<FrameFact>& frames, Place place) {
  const SystemLock guard(lock_);
  if (tags_.size() >= max_tags_) return 0;
  std::vector<std::uint32_t> indices;
  indices.reserve(frames.size());
  for (const FrameFact& frame : frames) indices.push_back(frame_index(frame));
  const std::uint32_t site = site_index(std::move(indices));
  const std::uint64_t key =
      std::uint64_t{site} << 32 | std::uint64_t(place.kind) << 16 | place.device;
  const auto known = tag_indices_.find(key);
  if (known != tag_indices_.end()) return known->second;
  const auto tag = static_cast<Tag>(tags_.size());
  tags_.push_back({.site = site,
                   .place = {.kind = place.kind, .device = place.device, .context = 0},
                   .total_ns = 0});
  tag_indices_.emplace(key, tag);
  return tag;
}

void SiteTable::copy_to(RecorderFacts& facts) const {
  const SystemLock guard(lock_);
  facts.frames = frames_;
  facts.sites = sites_;
  facts.tags = tags_;
}

}  // namespace vramscope
