// Notes for each block whether it was live at the first instant.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/held_between.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "reporter/report/attribution.h"
#include "reporter/report/parts.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/replay/trace_totals.h"
#include "reporter/view/analysis/stacks/stack_view.h"

namespace vramscope {
namespace {

// Threads: one.
class LiveBlocks final : public TraceObserver {
 public:
  explicit LiveBlocks(std::uint64_t from_ns) : from_ns_(from_ns) {}

  void came(const TraceBlock& block, const FollowedEvent& now) override {
    if (!counts(block)) return;
    const bool is_before = now.instant_ns <= from_ns_;
    (is_before ? live : allocated).add(block.bytes);
    if (blocks_.size() <= block.slot) blocks_.resize(block.slot + std::size_t{1});
    blocks_[block.slot] = {.block = block, .is_live = true, .is_before = is_before};
  }
  void went(const TraceBlock& block, const FollowedEvent& now, TraceMemory::End) override {
    if (!counts(block)) return;
    Block& its = blocks_[block.slot];
    its.is_live = false;
    if (!its.is_before || now.instant_ns > from_ns_) return;
    live.bytes -= block.bytes;
    --live.count;
  }

  struct Block {
    TraceBlock block;
    bool is_live = false;
    bool is_before = false;
  };
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

  HeldSum live = {};
  HeldSum allocated = {};

 private:
  [[nodiscard]] static bool counts(const TraceBlock& block) {
    return block.passes && holds_memory(block.place.kind);
  }

  const std::uint64_t from_ns_;
  std::vector<Block> blocks_;  // by slot
};

void put_largest_first(std::vector<HeldRow>& rows) {
  const auto rank = [](const HeldRow& row) {
    return std::tuple(row.held.bytes + row.added.bytes, row.held.count + row.added.count);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const HeldRow& a, const HeldRow& b) { return rank(a) > rank(b); });
}

// Adds blocks up by call site and by owner.
class RowSums {
 public:
  RowSums(const TraceNames& names, const std::vector<std::size_t>& present)
      : names_(names), present_(present) {
    parts_.recorder = names.facts;
    parts_.function_names = names.functions;
  }

  void add(const TraceBlock& block, bool is_before) {
    const TracePlace where = place_of(block.place);
    const auto site = static_cast<std::int64_t>(present_[site_of_tag(names_, block.tag)]);
    const std::string owner = value_of_tag(parts_, Axis::owner, block.tag);
    HeldRow& of_site = sites_[{site, where, owner}];
    of_site.site = site;
    of_site.kind = where.first;
    of_site.device = where.second;
    for (HeldRow* const row : {&of_site, &owners_[owner]}) {
      row->owner = owner;
      (is_before ? row->held : row->added).add(block.bytes);
    }
  }
  void put_into(HeldBetween& answer) {
    for (auto& [key, row] : sites_) answer.sites.push_back(std::move(row));
    for (auto& [owner, row] : owners_) answer.owners.push_back(std::move(row));
    put_largest_first(answer.sites);
    put_largest_first(answer.owners);
  }

 private:
  const TraceNames& names_;
  const std::vector<std::size_t>& present_;  // by site of the trace
  ReportParts parts_;
  std::map<std::tuple<std::int64_t, TracePlace, std::string>, HeldRow> sites_;
  std::map<std::string, HeldRow> owners_;
};

}  // namespace

std::optional<HeldBetween> held_between(TraceFollower& trace, AskedInstant from, AskedInstant to,
                                        const StackChoice& stacks) {
  TraceTotals totals;
  LiveBlocks blocks(from.at_ns);
  if (!trace.follow({&totals, &blocks})) return std::nullopt;
  totals.finish();
  HeldBetween answer{.from = std::move(from),
                     .to = std::move(to),
                     .report = report_of_trace(trace, totals),
                     .live = blocks.live,
                     .held = {},
                     .allocated = blocks.allocated,
                     .added = {}};
  const std::vector<std::size_t> present = choose_frames(answer.report, stacks);
  RowSums rows(trace.names(), present);
  for (const LiveBlocks::Block& one : blocks.blocks()) {
    if (!one.is_live) continue;
    (one.is_before ? answer.held : answer.added).add(one.block.bytes);
    rows.add(one.block, one.is_before);
  }
  rows.put_into(answer);
  return answer;
}

}  // namespace vramscope
