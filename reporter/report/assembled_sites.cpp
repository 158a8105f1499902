// Adds up what the allocator and the recorder know of a site's tags.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/assembled_sites.h"
#include "reporter/record/sampling.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace vramscope {

namespace {

constexpr std::size_t kMaxSizeClass = 64;

SiteTotals totals_of(const TagTotals& tag, std::uint64_t total_ns) {
  return {.live_bytes = tag.live_bytes,
          .live_count = tag.live_count,
          .peak_bytes = tag.peak_bytes,
          .peak_count = tag.peak_count,
          .total_bytes = tag.total_bytes,
          .total_count = tag.total_count,
          .total_ns = total_ns};
}

// Returns the estimate for a site's totals of one size class. Calls that sampling left out count
// nothing, since the others represent them.
SiteTotals estimate_of(const SiteTotals& totals, const TagFact& fact, std::uint64_t every) {
  if (fact.sampling == Sampling::left_out) return {};
  const auto size_class =
      static_cast<std::uint8_t>(fact.values[static_cast<std::size_t>(Axis::size_class)]);
  const auto scaled = [&](std::uint64_t taken) { return estimate(taken, size_class, every); };
  return {.live_bytes = scaled(totals.live_bytes),
          .live_count = scaled(totals.live_count),
          .peak_bytes = scaled(totals.peak_bytes),
          .peak_count = scaled(totals.peak_count),
          .total_bytes = scaled(totals.total_bytes),
          .total_count = scaled(totals.total_count),
          .total_ns = scaled(totals.total_ns)};
}

void add(std::optional<SiteTotals>& sum, const SiteTotals& more) {
  if (!sum) sum.emplace();
  *sum += more;
}

template <class Count>
void add_at(std::vector<std::uint64_t>& counts, std::size_t index, Count count) {
  if (count == 0) return;
  counts.resize(std::max(counts.size(), index + 1));
  counts[index] += count;
}

void add_history(Site& site, const TagTotals& totals, const TagFact& fact) {
  site.temporary_count += fact.temporary;
  for (std::size_t i = 0; i < totals.lifetimes.size(); ++i) {
    add_at(site.lifetimes, i, totals.lifetimes[i]);
  }
  for (std::size_t i = 0; i < totals.history.used; ++i) {
    site.live_past.resize(std::max<std::size_t>(site.live_past.size(), totals.history.used));
    site.live_past[i] += totals.history.last[i];
  }
  const std::uint32_t size_class = fact.values[static_cast<std::size_t>(Axis::size_class)];
  add_at(site.sizes, std::min<std::size_t>(size_class, kMaxSizeClass), totals.total_count);
}

bool has_totals(const SiteTotals& totals) {
  return totals.total_count != 0 || totals.live_count != 0 || totals.total_ns != 0;
}

}  // namespace

// What decides a site's position, and whether it is listed.
struct AssembledSites::Key {
  std::uint64_t peak_bytes = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t total_bytes = 0;
  bool is_used = false;

  friend bool operator==(const Key&, const Key&) = default;
};

AssembledSites::AssembledSites(const ReportParts& parts)
    : parts_(parts),
      ages_(parts),
      sites_(std::max<std::size_t>(parts.recorder.sites.size(), kLeftOutSite + 1)),
      tags_(std::max(parts.memory.tags.size(), parts.recorder.tags.size())) {
  list_tags();
  put_in_order(keys());
  by_tag_.assign(parts.recorder.tags.size(), -1);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    for (std::size_t at = first_tag_[order_[i]]; at < first_tag_[order_[i] + 1]; ++at) {
      const std::uint32_t tag = tags_by_site_[at];
      if (tag != 0 && tag < by_tag_.size()) by_tag_[tag] = static_cast<std::int64_t>(i);
    }
  }
  list_blocks();
}

std::uint32_t AssembledSites::site_of(std::size_t tag) const {
  if (tag >= parts_.recorder.tags.size()) return kUnknownSite;
  const std::uint32_t site = parts_.recorder.tags[tag].site;
  return site < sites_ ? site : kUnknownSite;
}

TagFact AssembledSites::fact_of(std::size_t tag) const {
  const Rows<TagFact>& tags = parts_.recorder.tags;
  return tag < tags.size() ? tags[tag] : TagFact{};
}

TagTotals AssembledSites::memory_of(std::size_t tag) const {
  const Rows<TagTotals>& tags = parts_.memory.tags;
  return tag < tags.size() ? tags[tag] : TagTotals{};
}

void AssembledSites::list_tags() {
  std::vector<std::uint32_t> sites(tags_);
  first_tag_.assign(sites_ + 1, 0);
  for (std::size_t tag = 0; tag < tags_; ++tag) ++first_tag_[(sites[tag] = site_of(tag)) + 1];
  for (std::size_t i = 0; i < sites_; ++i) first_tag_[i + 1] += first_tag_[i];
  std::vector<std::uint32_t> next(first_tag_.begin(), first_tag_.end() - 1);
  tags_by_site_.resize(tags_);
  for (std::uint32_t tag = 0; tag < tags_; ++tag) tags_by_site_[next[sites[tag]]++] = tag;
}

// If every request of a tag failed, the allocator does not know the tag.
std::vector<AssembledSites::Key> AssembledSites::keys() {
  std::vector<Key> keys(sites_);
  for (std::size_t site = 0; site < sites_; ++site) {
    Key& key = keys[site];
    for (std::size_t at = first_tag_[site]; at < first_tag_[site + 1]; ++at) {
      const std::size_t tag = tags_by_site_[at];
      const TagFact fact = fact_of(tag);
      const SiteTotals totals = totals_of(memory_of(tag), fact.total_ns);
      key.is_used |= fact.refused_count != 0 || has_totals(totals);
      if (!has_totals(totals)) continue;
      key.peak_bytes += totals.peak_bytes;
      key.live_bytes += totals.live_bytes;
      key.total_bytes += totals.total_bytes;
    }
  }
  return keys;
}

void AssembledSites::put_in_order(std::vector<Key> keys) {
  const auto used = std::count_if(keys.begin(), keys.end(), [](const Key& k) { return k.is_used; });
  order_.reserve(static_cast<std::size_t>(used));
  for (std::uint32_t site = 0; site < sites_; ++site) {
    if (keys[site].is_used) order_.push_back(site);
  }
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto& [x, y] = std::tie(keys[a], keys[b]);
    return std::tie(y.peak_bytes, y.live_bytes, y.total_bytes) <
           std::tie(x.peak_bytes, x.live_bytes, x.total_bytes);
  });
  std::vector<bool> is_like_last(order_.size());
  for (std::size_t i = 1; i < order_.size(); ++i) {
    is_like_last[i] = keys[order_[i]] == keys[order_[i - 1]];
  }
  std::vector<Key>().swap(keys);  // frees memory: the frames take as much
  for (std::size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    for (end = begin + 1; end < order_.size() && is_like_last[end];) ++end;
    if (end - begin > 1) sort_by_frames(begin, end);
  }
}

void AssembledSites::sort_by_frames(std::size_t begin, std::size_t end) {
  const bool are_short = parts_.recorder.frames.size() <= std::numeric_limits<std::uint16_t>::max();
  are_short ? sort_by_frames_as<std::uint16_t>(begin, end)
            : sort_by_frames_as<std::uint32_t>(begin, end);
}

// Number: an integer type that can hold a frame's number.
template <class Number>
void AssembledSites::sort_by_frames_as(std::size_t begin, std::size_t end) {
  struct Range {
    std::uint32_t site;
    std::uint32_t count;
    std::size_t first;
  };
  const RecorderFacts& facts = parts_.recorder;
  const auto frames_of = [&](std::uint32_t site) {
    return site < facts.sites.size() ? facts.sites[site].frames : std::vector<std::uint32_t>();
  };
  std::size_t count = 0;
  for (std::size_t i = begin; i < end; ++i) count += frames_of(order_[i]).size();
  std::vector<Number> all;
  std::vector<Range> ranges;
  all.reserve(count);
  ranges.reserve(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    const std::vector<std::uint32_t> frames = frames_of(order_[i]);
    ranges.push_back({order_[i], static_cast<std::uint32_t>(frames.size()), all.size()});
    for (const std::uint32_t frame : frames) all.push_back(static_cast<Number>(frame));
  }
  std::sort(ranges.begin(), ranges.end(), [&](const Range& a, const Range& b) {
    const Number *const x = all.data() + a.first, *const y = all.data() + b.first;
    return std::lexicographical_compare(x, x + a.count, y, y + b.count);
  });
  for (std::size_t i = begin; i < end; ++i) order_[i] = ranges[i - begin].site;
}

void AssembledSites::list_blocks() {
  const auto& blocks = parts_.memory.blocks;
  const auto site_of_block = [&](std::uint32_t i) {
    return blocks[i].tag < by_tag_.size() ? by_tag_[blocks[i].tag] : -1;
  };
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (ages_.counts(blocks[i]) && site_of_block(i) >= 0) live_blocks_.push_back(i);
  }
  std::sort(live_blocks_.begin(), live_blocks_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return site_of_block(a) < site_of_block(b); });
}

void AssembledSites::renumber(std::vector<std::uint32_t>& frames, Report& report) {
  for (std::uint32_t& frame : frames) {
    if (numbers_[frame] == kNoFrame) {
      numbers_[frame] = static_cast<std::uint32_t>(report.frames.size());
      report.frames.push_back(parts_.recorder.frames[frame]);
    }
    frame = numbers_[frame];
  }
}

void AssembledSites::move_frames_to(Report& report) {
  const RecorderFacts& facts = parts_.recorder;
  numbers_.assign(facts.frames.size(), kNoFrame);
  for (const std::uint32_t site : order_) {
    if (site >= facts.sites.size()) continue;
    SiteFact fact = facts.sites[site];
    renumber(fact.frames, report);
  }
  for (ThreadStart& start : report.threads) renumber(start.frames, report);
}

void AssembledSites::add_tag(std::size_t tag, Site& site) const {
  const TagFact fact = fact_of(tag);
  const TagTotals totals = memory_of(tag);
  const SiteTotals sum = totals_of(totals, fact.total_ns);
  site.refused_count += fact.refused_count;
  site.refused_bytes = capped_sum(site.refused_bytes, fact.refused_bytes);
  if (!has_totals(sum)) return;
  site.totals += sum;
  add_history(site, totals, fact);
  // The unknown tag has no single kind and device.
  if (tag == 0) return;
  auto part = std::find_if(site.parts.begin(), site.parts.end(), [&](const SitePart& p) {
    return p.kind == fact.place.kind && p.device == fact.place.device;
  });
  if (part == site.parts.end()) {
    part = site.parts.insert(part,
                             {.kind = fact.place.kind, .device = fact.place.device, .totals = {}});
  }
  part->totals += sum;
  if (parts_.sample_bytes == 0) return;
  const SiteTotals more = estimate_of(sum, fact, parts_.sample_bytes);
  add(part->estimate, more);
  add(site.estimate, more);
}

Site AssembledSites::at(std::size_t index) const {
  Site site;
  const std::uint32_t recorded = order_[index];
  site.is_left_out = recorded == kLeftOutSite && parts_.sample_bytes != 0;
  for (std::size_t at = first_tag_[recorded]; at < first_tag_[recorded + 1]; ++at) {
    add_tag(tags_by_site_[at], site);
  }
  if (recorded < parts_.recorder.sites.size()) {
    site.frames = parts_.recorder.sites[recorded].frames;
    for (std::uint32_t& frame : site.frames) frame = numbers_[frame];
  }
  const auto site_of_block = [&](std::uint32_t i) {
    return static_cast<std::size_t>(by_tag_[parts_.memory.blocks[i].tag]);
  };
  auto block = std::partition_point(live_blocks_.begin(), live_blocks_.end(),
                                    [&](std::uint32_t i) { return site_of_block(i) < index; });
  std::vector<const BlockSnapshot*> blocks;
  for (; block != live_blocks_.end() && site_of_block(*block) == index; ++block) {
    blocks.push_back(&parts_.memory.blocks[*block]);
  }
  ages_.add(blocks, site);
  return site;
}

}  // namespace vramscope
