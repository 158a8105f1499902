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

constexpr std::array<std::string_view, 5> kCosts{"peak", "leaked", "kept", "total", "count"};

}  // namespace

std::uint64_t value_of(const LeakUsage& usage, Cost cost) {
  switch (cost) {
    case Cost::peak:
      return usage.totals.peak_bytes;
    case Cost::leaked:
      return usage.leaked_bytes;
    case Cost::kept:
      return kept_bytes(usage);
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

std::string held_by(const KeptUsage& kept) { return "held by " + kept.holder; }

std::vector<CostPart> parts_of(const LeakUsage& usage, Cost cost) {
  std::vector<CostPart> parts;
  if (cost == Cost::kept) {
    for (const KeptUsage& kept : usage.kept)
      if (kept.bytes != 0) parts.push_back({.value = kept.bytes, .holder = held_by(kept)});
  } else if (const std::uint64_t value = value_of(usage, cost); value != 0) {
    parts.push_back({.value = value});
  }
  return parts;
}

Holders::Holders(const Exported& exported) {
  for (const LeakUsage& usage : exported.usage()) {
    const bool is_held = usage.leaked_bytes == 0 && usage.leaked_count == 0;
    if (!is_held || usage.kept.size() != 1) continue;
    holders_[{usage.site, usage.kind, usage.device}] = usage.kept.front().holder;
  }
}

const std::string& Holders::of(std::size_t site, Kind kind, std::uint16_t device) const {
  static const std::string kNobody;
  const auto found = holders_.find({site, kind, device});
  return found == holders_.end() ? kNobody : found->second;
}

std::string_view name_of(Cost cost) { return kCosts[static_cast<std::size_t>(cost)]; }

Exported::Exported(Report report, Cost cost, const StackChoice& stacks, NameFrame name,
                   const Filter& filter)
    : report_(std::move(report)), cost_(cost), name_(std::move(name)) {
  sites_ = choose_frames(report_, stacks);
  leave_out_small_rows(report_, filter, {.row_is_of_memory = true});
}

Exported::Exported(Report report, TraceFollower& trace, Cost cost, const StackChoice& stacks,
                   NameFrame name)
    : report_(std::move(report)), trace_(&trace), cost_(cost), name_(std::move(name)) {
  sites_ = choose_frames(report_, stacks);
}

const std::vector<LeakUsage>& Exported::usage() const {
  if (!usage_) usage_ = usage_with_leaks(report_, name_);
  return *usage_;
}

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

void Exported::attach(TraceFollower& trace, const std::vector<std::int64_t>& sites) {
  trace_ = &trace;
  attached_ = sites;
}

std::uint64_t Exported::start_clock_ns() const {
  if (!attached_) return trace_->begin_ns();
  const TraceProcess& process = trace_->names().process;
  return process.clock_ns + (report_.timeline.start_ns - process.wall_ns);
}

std::optional<std::size_t> Exported::known_site_of(Tag tag) const {
  if (!attached_) return site_of(tag);
  const std::size_t site = site_of_tag(trace_->names(), tag);
  const std::int64_t of_report = site < attached_->size() ? (*attached_)[site] : -1;
  if (of_report < 0 || static_cast<std::size_t>(of_report) >= sites_.size()) return std::nullopt;
  return sites_[static_cast<std::size_t>(of_report)];
}

std::string process_name(const Report& report) { return harmless(titled_process(report.process)); }

std::string command_of(const Report& report) { return harmless(command_line(report.process)); }

}  // namespace vramscope
