// Chooses what of a report or a trace is exported.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/exported.h"

#include <algorithm>
#include <array>
#include <utility>

#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/text/process_text.h"

namespace vramscope {
namespace {

constexpr std::array<std::string_view, 4> kCosts{"peak", "leaked", "total", "count"};

}  // namespace

std::uint64_t value_of(const SiteUsage& usage, Cost cost) {
  switch (cost) {
    case Cost::peak:
      return usage.totals.peak_bytes;
    case Cost::leaked:
      return usage.never_freed_bytes;
    case Cost::total:
      return usage.totals.total_bytes;
    case Cost::count:
      return usage.totals.total_count;
  }
  return 0;
}

std::optional<Cost> cost_named(std::string_view name) {
  const auto found = std::find(kCosts.begin(), kCosts.end(), name);
  if (found == kCosts.end()) return std::nullopt;
  return static_cast<Cost>(found - kCosts.begin());
}

std::string_view name_of(Cost cost) { return kCosts[static_cast<std::size_t>(cost)]; }

Exported::Exported(Report report, Cost cost, const StackChoice& stacks, NameFrame name,
                   const Filter& filter)
    : report_(std::move(report)), cost_(cost), name_(std::move(name)) {
  choose_frames(report_, stacks);
  leave_out_small_rows(report_, filter, {.row_is_of_memory = true});
}

Exported::Exported(Report report, TraceFollower& trace, Cost cost, const StackChoice& stacks,
                   NameFrame name)
    : report_(std::move(report)), trace_(&trace), cost_(cost), name_(std::move(name)) {
  sites_ = choose_frames(report_, stacks);
}

std::vector<SiteUsage> Exported::usage() const { return usage_with_never_freed(report_); }

const KindFacts* Exported::highest() const {
  const KindFacts* result = nullptr;
  for (const KindFacts& kind : report_.kinds) {
    if (!holds_memory(kind.kind) || kind.peak_bytes == 0) continue;
    if (result == nullptr || kind.peak_bytes > result->peak_bytes) result = &kind;
  }
  return result;
}

const TraceNames* Exported::names() const { return trace_ == nullptr ? nullptr : &trace_->names(); }

std::size_t Exported::site_of(Tag tag) const {
  const std::size_t site = site_of_tag(trace_->names(), tag);
  return site < sites_.size() ? sites_[site] : 0;
}

std::string process_name(const Report& report) { return harmless(titled_process(report.process)); }

std::string command_of(const Report& report) { return harmless(command_line(report.process)); }

}  // namespace vramscope
