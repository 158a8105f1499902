// Interns frames, sites and tags.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/site_table.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "reporter/record/stack/hash.h"

namespace vramscope {

std::size_t SiteTable::FrameHash::operator()(const FrameFact& frame) const noexcept {
  return mix(mix(kHashSeed, frame.module, frame.code), frame.offset, frame.line);
}

namespace {

constexpr std::uint32_t kNoSite = 0xffffffffU;

std::uint64_t hash_of(const SiteRows::Node& node) {
  return mix(kHashSeed, node.frame, node.parent);
}

std::uint64_t hash_of(const SiteRows::TagRow& row) {
  const std::uint64_t place = std::uint64_t{row.function} << 32 | std::uint64_t{row.device} << 16 |
                              std::uint64_t{row.size_class} << 8 |
                              static_cast<std::uint64_t>(row.kind);
  const std::uint64_t hash = mix(kHashSeed, std::uint64_t{row.site} << 32 | row.owner, place);
  return mix(hash, std::uint64_t{row.thread} << 32 | row.stream, row.range);
}

// Compares everything except what follows from the compared values.
bool is_same(const SiteRows::TagRow& a, const SiteRows::TagRow& b) {
  return a.site == b.site && a.kind == b.kind && a.device == b.device &&
         SiteRows::values_of(a) == SiteRows::values_of(b);
}

}  // namespace

SiteTable::SiteTable(std::size_t max_tags)
    : max_tags_(max_tags), rows_(std::make_shared<SiteRows>()) {
  rows_->nodes.add({.frame = 0, .parent = 0});
  site_of_node_.add(kUnknownSite);
  while (rows_->sites.size() <= kLeftOutSite) rows_->sites.add(0);
  rows_->tags.add({});
}

std::uint32_t SiteTable::frame_index(const FrameFact& frame) {
  const auto known = frame_indices_.find(frame);
  if (known != frame_indices_.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back(frame);
  frame_indices_.emplace(frame, index);
  return index;
}

std::uint32_t SiteTable::node_index(std::uint32_t frame, std::uint32_t parent) {
  const SiteRows::Node wanted{.frame = frame, .parent = parent};
  const std::uint64_t hash = hash_of(wanted);
  const auto is_it = [&](std::uint32_t i) {
    return rows_->nodes[i].frame == frame && rows_->nodes[i].parent == parent;
  };
  const std::uint32_t known = nodes_.find(hash, is_it);
  if (known != AppendedIndex::kNone) return known;
  nodes_.make_room([&](std::uint32_t i) { return hash_of(rows_->nodes[i]); });
  while (site_of_node_.size() <= rows_->nodes.size()) site_of_node_.add(kNoSite);
  const std::uint32_t node = rows_->nodes.add(wanted);
  nodes_.add(hash, node);
  return node;
}

std::uint32_t SiteTable::site_index(std::span<const std::uint32_t> frames) {
  std::uint32_t node = 0;
  for (std::size_t i = frames.size(); i-- > 0;) node = node_index(frames[i], node);
  if (site_of_node_[node] == kNoSite) site_of_node_[node] = rows_->sites.add(node);
  return site_of_node_[node];
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
    if (is_optional && values[axis] == 0)
      continue;  // the common case, which spends no time on its
                 // own peak
    const std::uint64_t key = std::uint64_t{values[axis]} << 32 | std::uint64_t(place.kind) << 24 |
                              std::uint64_t{place.device} << 8 | axis;
    const auto next = static_cast<Group>(groups_.size() + 1);
    groups[axis] = groups_.try_emplace(key, next).first->second;
  }
  return groups;
}

Tag SiteTable::tag_index(const SiteRows::TagRow& wanted) {
  const auto is_it = [&](std::uint32_t i) { return is_same(rows_->tags[i], wanted); };
  return tags_.find(hash_of(wanted), is_it);
}

TagGroups SiteTable::tag(const std::vector<FrameFact>& frames, const std::string& owner,
                         Origin origin) {
  const SystemLock guard(lock_);
  const std::size_t tags = rows_->tags.size();
  if (tags >= max_tags_) return {};
  if (tags >= max_tags_ - max_tags_ / 4) {
    origin.thread = origin.stream = origin.range = kOtherValue;
    if (origin.sampling != Sampling::taken)
      origin.size_class = 0;  // samples are scaled by the
                              // size class
  }
  std::vector<std::uint32_t> indices;
  indices.reserve(frames.size());
  for (const FrameFact& frame : frames) indices.push_back(frame_index(frame));
  const bool left_out = origin.sampling == Sampling::left_out;
  SiteRows::TagRow row{.site = left_out ? kLeftOutSite : site_index(indices),
                       .owner = owner_index(owner),
                       .thread = origin.thread,
                       .stream = origin.stream,
                       .range = origin.range,
                       .groups = {},
                       .function = origin.function,
                       .device = origin.place.device,
                       .size_class = origin.size_class,
                       .kind = origin.place.kind,
                       .sampling = origin.sampling};
  const Tag known = tag_index(row);
  if (known != AppendedIndex::kNone) return {known, rows_->tags[known].groups};
  row.groups =
      groups_of(SiteRows::values_of(row), {.kind = row.kind, .device = row.device, .context = 0});
  tags_.make_room([&](std::uint32_t i) { return hash_of(rows_->tags[i]); });
  const Tag tag = rows_->tags.add(row);
  tags_.add(hash_of(row), tag);
  return {tag, row.groups};
}

std::size_t SiteTable::tag_count() const { return rows_->tags.size(); }

namespace {

// The rows of a table. All of them are read as they are asked for; rows from a known one on are
// few, and are copied.
template <class Row, class At>
class RowsOfTable : public RowSource<Row> {
 public:
  RowsOfTable(std::shared_ptr<const SiteRows> rows, std::size_t count, At at)
      : rows_(std::move(rows)), count_(count), at_(at) {}
  [[nodiscard]] std::size_t size() const override { return count_; }
  [[nodiscard]] Row at(std::size_t index) const override {
    return at_(*rows_, static_cast<std::uint32_t>(index));
  }

 private:
  const std::shared_ptr<const SiteRows> rows_;
  const std::size_t count_;
  const At at_;
};

template <class Row, class At>
Rows<Row> rows_of(const std::shared_ptr<SiteRows>& rows, std::size_t known, std::size_t count,
                  At at) {
  if (known == 0) {
    return Rows<Row>(std::make_shared<const RowsOfTable<Row, At>>(rows, count, at));
  }
  std::vector<Row> few;
  for (; known < count; ++known) few.push_back(at(*rows, static_cast<std::uint32_t>(known)));
  return few;
}

}  // namespace

void SiteTable::copy_to(RecorderFacts& facts, const KnownNames& known) const {
  const SystemLock guard(lock_);
  facts.frames = rows_from(frames_, known.frames);
  facts.sites =
      rows_of<SiteFact>(rows_, known.sites, rows_->sites.size(),
                        [](const SiteRows& rows, std::uint32_t i) { return rows.site(i); });
  facts.tags = rows_of<TagFact>(rows_, known.tags, rows_->tags.size(),
                                [](const SiteRows& rows, std::uint32_t i) { return rows.tag(i); });
  facts.owners = rows_from(owners_, known.owners);
}

}  // namespace vramscope
