// Determines when live blocks were allocated, by the numbers of their allocations.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/ages.h"

#include <algorithm>
#include <utility>

#include "reporter/report/attribution.h"

namespace vramscope {

namespace {

// Returns the innermost range that contains both; 0: none. Parents have smaller numbers.
std::uint32_t common_range(const std::vector<RangeFact>& ranges, std::uint32_t a, std::uint32_t b) {
  while (a != b) {
    std::uint32_t& inner = a > b ? a : b;
    if (inner >= ranges.size() || ranges[inner].parent >= inner) return 0;
    inner = ranges[inner].parent;
  }
  return a;
}

// Returns whether the blocks, which are in order, were allocated in at least kLeastPasses passes. A
// program may set its mark at the end of each pass, so the time before the first mark is a pass,
// too. But more blocks from then than from any later pass are from the program's start: false.
bool is_between(const RepeatedMark& mark, const std::vector<const BlockSnapshot*>& blocks) {
  std::vector<std::ptrdiff_t> counts;  // before the first mark, then after each
  auto from = blocks.begin();
  for (const std::uint64_t clock_ns : mark.clocks_ns) {
    const auto until = std::partition_point(
        from, blocks.end(), [&](const BlockSnapshot* block) { return block->born_ns < clock_ns; });
    counts.push_back(until - from);
    from = until;
  }
  counts.push_back(blocks.end() - from);
  const auto passes = counts.size() - std::count(counts.begin(), counts.end(), 0);
  return passes >= kLeastPasses && counts[0] <= *std::max_element(counts.begin() + 1, counts.end());
}

}  // namespace

Ages::Ages(const ReportParts& parts) : parts_(parts), allocations_(parts.memory.allocations) {
  for (const BlockSnapshot& block : parts.memory.blocks) {
    if (counts(block)) births_.push_back(block.born);
  }
  std::sort(births_.begin(), births_.end());
}

void Ages::add(const BlockSnapshot& block, std::vector<std::uint64_t>& ages) const {
  constexpr std::size_t kTenths = 10;
  ages.resize(kTenths);
  const auto tenth = static_cast<std::size_t>(static_cast<double>(block.born - 1) /
                                              static_cast<double>(allocations_) * double{kTenths});
  ages[std::min(tenth, kTenths - 1)] += block.requested_size;
}

// A new turn begins if the numbers of two successive blocks differ by more than the live blocks
// between them: other blocks were allocated and freed there.
void Ages::add(std::vector<const BlockSnapshot*>& blocks, Site& site) const {
  if (blocks.empty()) return;
  std::sort(blocks.begin(), blocks.end(),
            [](const auto* a, const auto* b) { return a->born < b->born; });
  const auto rank = [this](const BlockSnapshot* block) {
    return static_cast<std::uint64_t>(
        std::lower_bound(births_.begin(), births_.end(), block->born) - births_.begin());
  };
  site.live_turns = 1;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    add(*blocks[i], site.live_by_age);
    if (i == 0) continue;
    const std::uint64_t came = blocks[i]->born - blocks[i - 1]->born;
    site.live_turns += came > rank(blocks[i]) - rank(blocks[i - 1]) ? 1 : 0;
  }
  site.live_first = blocks.front()->born;
  site.live_last = blocks.back()->born;
  const std::uint64_t first_ns = blocks.front()->born_ns;
  site.live_span_ns = blocks.back()->born_ns - std::min(first_ns, blocks.back()->born_ns);
  add_range(blocks, site);
  if (site.live_passes < kLeastPasses) add_mark(blocks, site);
}

void Ages::add_range(const std::vector<const BlockSnapshot*>& blocks, Site& site) const {
  const std::vector<RangeFact>& ranges = parts_.recorder.ranges;
  Tag last = 0;
  std::uint32_t range = kOtherValue;
  for (const BlockSnapshot* block : blocks) {
    if (block->tag == last) continue;
    last = block->tag;
    if (last >= parts_.recorder.tags.size()) return;
    const std::uint32_t its =
        parts_.recorder.tags[last].values[static_cast<std::size_t>(Axis::range)];
    range = range == kOtherValue ? its : common_range(ranges, range, its);
    if (range == 0 || range >= ranges.size()) return;
  }
  if (range >= ranges.size()) return;
  site.live_range = value_text(parts_, Axis::range, range);
  site.live_passes = ranges[range].entered;
}

// Chooses, among repeated names, the one whose number of marks is nearest to the number of blocks:
// of epochs and steps, the one in each of which a block was allocated.
void Ages::add_mark(const std::vector<const BlockSnapshot*>& blocks, Site& site) const {
  if (blocks.size() < kLeastPasses) return;
  const RepeatedMark* best = nullptr;
  const auto distance_of = [&](const RepeatedMark& mark) {
    const auto ratio = static_cast<double>(mark.marks) / static_cast<double>(blocks.size());
    return std::max(ratio, 1 / ratio);
  };
  for (const RepeatedMark& mark : parts_.recorder.repeated_marks) {
    if (mark.clocks_ns.empty() || !is_between(mark, blocks)) continue;
    const auto rank = [&](const RepeatedMark& one) {
      return std::pair(-distance_of(one), one.clocks_ns.front());
    };
    if (best == nullptr || rank(mark) > rank(*best)) best = &mark;
  }
  if (best == nullptr) return;
  site.live_mark = best->name;
  site.live_marks = best->marks;
}

void add_ages(const ReportParts& parts, const std::vector<std::int64_t>& site_of_tag,
              std::vector<Site>& sites) {
  const Ages ages(parts);
  std::vector<std::vector<const BlockSnapshot*>> blocks(sites.size());
  for (const BlockSnapshot& block : parts.memory.blocks) {
    if (!ages.counts(block) || block.tag >= site_of_tag.size()) continue;
    const std::int64_t site = site_of_tag[block.tag];
    if (site >= 0) blocks[static_cast<std::size_t>(site)].push_back(&block);
  }
  for (std::size_t i = 0; i < sites.size(); ++i) ages.add(blocks[i], sites[i]);
}

}  // namespace vramscope
