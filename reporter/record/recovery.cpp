// Follows the pointers from the recorder's root, in this process or in an image. In an image every
// pointer is checked.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/recovery.h"

#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "reporter/record/recorder_root.h"

namespace vramscope {

namespace {

constexpr std::uint64_t kMostFunctions = std::uint64_t{1} << 16;  // an event has 16 bits for a
                                                                  // function

const RecorderRoot& root_of(const LiveHeader& header, const Reach& reach) {
  if (header.base != reinterpret_cast<std::uintptr_t>(&header)) {
    throw std::runtime_error("the live file is not mapped where it was written");
  }
  const auto* const root =
      reach.at(static_cast<const RecorderRoot*>(header.recorder.load(std::memory_order_acquire)));
  if (root == nullptr) throw std::runtime_error("the process ended before it recorded anything");
  if (root->layout != layout_of_recorder()) {
    throw std::runtime_error(
        "the recorder's memory was written by another version, not by this build of " +
        std::string(VRAMSCOPE_VERSION));
  }
  if (root->function_count > kMostFunctions) {
    throw std::runtime_error("the recorder's memory is damaged: it has too many functions");
  }
  return *root;
}

void add_ranges(const RangeTable::Counts& counts, RecorderFacts& facts) {
  for (std::size_t i = 0; i < facts.ranges.size() && i < counts.entered.size(); ++i) {
    facts.ranges[i].entered = counts.entered[i].load(std::memory_order_relaxed);
  }
  facts.range_marks = counts.marks.load(std::memory_order_relaxed);
  facts.repeated_marks = counts.rows.facts(kLeastPasses);
}

void warn_of_gaps(const LiveHeader& header, const FoundNames& found, RecorderFacts& facts) {
  if (!found.is_cut) return;
  const bool is_short = header.problem.load(std::memory_order_relaxed) != 0;
  facts.warnings.emplace_back(
      is_short ? "the live file could not grow: names of later call sites are missing"
               : "the live file is full: names of later call sites are missing");
}

}  // namespace

namespace {

// The tags with their counts at one instant.
class CountedTags : public RowSource<TagFact> {
 public:
  CountedTags(Rows<TagFact> tags, const RecorderRoot& root, const Reach& reach)
      : tags_(std::move(tags)), sums_(tags_.size()) {
    root.counters.add_tags_to(sums_, reach);
    for (Tag tag = 0; tag < sums_.size(); ++tag) {
      const TagCounts::Row* const row = TagCounts::find(root.tag_counts, tag, reach);
      if (row == nullptr) continue;
      const Refused refused{row->refused_count.load(std::memory_order_relaxed),
                            row->refused_bytes.load(std::memory_order_relaxed)};
      if (refused.count != 0 || refused.bytes != 0) refused_.emplace(tag, refused);
    }
  }

  [[nodiscard]] std::size_t size() const override { return sums_.size(); }
  [[nodiscard]] TagFact at(std::size_t index) const override {
    TagFact fact = tags_[index];
    fact.total_ns = sums_[index].ns;
    fact.temporary = sums_[index].temporary;
    const auto refused = refused_.find(static_cast<Tag>(index));
    if (refused == refused_.end()) return fact;
    fact.refused_count = refused->second.count;
    fact.refused_bytes = refused->second.bytes;
    return fact;
  }

 private:
  struct Refused {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  const Rows<TagFact> tags_;
  std::vector<CounterSet::ByTag> sums_;
  std::map<Tag, Refused> refused_;  // few tags have any
};

}  // namespace

void add_counts(const RecorderRoot& root, const Reach& reach, RecorderFacts& facts) {
  facts.functions = root.counters.functions(root.function_count, reach);
  facts.devices = root.counters.devices(reach);
  facts.tags =
      Rows<TagFact>(std::make_shared<const CountedTags>(std::move(facts.tags), root, reach));
  facts.unrecorded_calls = root.unrecorded.load(std::memory_order_relaxed);
  facts.dropped_stacks = root.dropped.load(std::memory_order_relaxed);
}

RecorderFacts recover_facts(const LiveHeader& header) {
  const Reach reach(header);
  const RecorderRoot& root = root_of(header, reach);
  FoundNames found = read_live_names(header, root.names);
  RecorderFacts facts = std::move(found.facts);
  add_counts(root, reach, facts);
  facts.host = root.counters.host(reach);
  add_ranges(root.ranges, facts);
  warn_of_gaps(header, found, facts);
  return facts;
}

}  // namespace vramscope
