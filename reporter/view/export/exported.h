// Exported is the input of every format: a report, or a trace with the parts of a report that its
// totals give.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/leaks/leak_usage.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/analysis/stacks/stack_view.h"

namespace vramscope {

// The value that formats with one number for each stack show: bytes, or with `count` allocations.
// kept: what caches of frameworks hold and libraries keep by design, which `leaked` leaves out.
enum class Cost : std::uint8_t { peak, leaked, kept, total, count };
[[nodiscard]] std::uint64_t value_of(const LeakUsage& usage, Cost cost);
[[nodiscard]] std::optional<Cost> cost_named(std::string_view name);
[[nodiscard]] std::string_view name_of(Cost cost);

class Exported {
 public:
  // Shows stacks as `stacks` says. The filter then keeps the shown stacks that are as large as it
  // asks for; its other conditions must hold already. May throw bad_alloc, like all members.
  Exported(Report report, Cost cost, const StackChoice& stacks, NameFrame name,
           const Filter& filter = {});
  // Exports the allocations of a trace that pass. `report` is report_of_trace() of the trace, which
  // outlives this object.
  Exported(Report report, TraceFollower& trace, Cost cost, const StackChoice& stacks,
           NameFrame name);

  [[nodiscard]] const Report& report() const { return report_; }
  [[nodiscard]] const NameFrame& name() const { return name_; }
  [[nodiscard]] Cost cost() const { return cost_; }
  // Returns usage by site, which is made when it is first asked for.
  [[nodiscard]] const std::vector<LeakUsage>& usage() const;
  // Returns the kind with the highest peak, or null if the report has no kinds.
  [[nodiscard]] const KindFacts* highest() const;

  // Adds the events of the report's own trace, which outlives this object. sites: the report's
  // site, before stacks were chosen, for each site of the trace; -1: none.
  void attach(TraceFollower& trace, const std::vector<std::int64_t>& sites);

  // Returns the names of a trace; null for a report.
  [[nodiscard]] const TraceNames* names() const;
  // Returns the clock of the trace's events at the instant from which the report's times count.
  [[nodiscard]] std::uint64_t start_clock_ns() const;
  // Returns the report's site for a tag of the trace.
  [[nodiscard]] std::size_t site_of(Tag tag) const;
  // Returns the same, also with a trace that was attached; nothing: the report has no such site.
  [[nodiscard]] std::optional<std::size_t> known_site_of(Tag tag) const;
  // Follows the trace. Returns "" or its problem.
  [[nodiscard]] std::string follow(TraceObserver& observer) const {
    return trace_->follow({&observer}) ? "" : trace_->problem();
  }

 private:
  Report report_;
  TraceFollower* trace_ = nullptr;
  Cost cost_ = Cost::peak;
  NameFrame name_;
  std::vector<std::size_t> sites_;  // the site that is shown for each site of the report or trace
  std::optional<std::vector<std::int64_t>> attached_ = {};  // the argument of attach()
  mutable std::optional<std::vector<LeakUsage>> usage_ = {};
};

// A part of a stack's value. Kept memory has a part for each holder.
struct CostPart {
  std::uint64_t value = 0;
  std::string holder =
      {};  // "held by PyTorch's cache", shown as a frame inside the memory; "": none
};
// Leaves out parts of 0. May throw bad_alloc.
[[nodiscard]] std::vector<CostPart> parts_of(const LeakUsage& usage, Cost cost);

// Returns "held by PyTorch's cache".
[[nodiscard]] std::string held_by(const KeptUsage& kept);

// The holders of memory of one kind on one device that a stack never freed. Threads: any, after
// construction, which may throw bad_alloc.
class Holders {
 public:
  explicit Holders(const Exported& exported);
  // Returns the holder, or "" if the memory, or a part of it, leaked.
  [[nodiscard]] const std::string& of(std::size_t site, Kind kind, std::uint16_t device) const;
  [[nodiscard]] bool are_none() const { return holders_.empty(); }

 private:
  std::map<std::tuple<std::size_t, Kind, std::uint16_t>, std::string> holders_;
};

// Returns "train (4711)".
[[nodiscard]] std::string process_name(const Report& report);

// Returns the program and its arguments on one line, with '?' for hostile characters.
[[nodiscard]] std::string command_of(const Report& report);

}  // namespace vramscope
