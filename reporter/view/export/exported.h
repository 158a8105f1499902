// Exported is what a format is made of: a report, or a trace with as much of a report as its totals
// tell.
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

// What formats with one number for a stack show; all in bytes but count, in allocations. kept: what
// caches of frameworks hold and libraries keep by design, which is not in leaked.
enum class Cost : std::uint8_t { peak, leaked, kept, total, count };
[[nodiscard]] std::uint64_t value_of(const LeakUsage& usage, Cost cost);
[[nodiscard]] std::optional<Cost> cost_named(std::string_view name);
[[nodiscard]] std::string_view name_of(Cost cost);

class Exported {
 public:
  // Stacks are shown as `stacks` says. May throw bad_alloc, as all members.
  // Of the stacks that are shown then those are left that are as large as the filter asks for; the
  // rest of it holds already.
  Exported(Report report, Cost cost, const StackChoice& stacks, NameFrame name,
           const Filter& filter = {});
  // Of the allocations of a trace that pass, of which `report` is report_of_trace(); it outlives
  // this.
  Exported(Report report, TraceFollower& trace, Cost cost, const StackChoice& stacks,
           NameFrame name);

  [[nodiscard]] const Report& report() const { return report_; }
  [[nodiscard]] const NameFrame& name() const { return name_; }
  [[nodiscard]] Cost cost() const { return cost_; }
  // By site. Made when it is first asked for.
  [[nodiscard]] const std::vector<LeakUsage>& usage() const;
  // The kind that held the most at its peak; null: there is none.
  [[nodiscard]] const KindFacts* highest() const;

  // Of a trace, else null.
  [[nodiscard]] const TraceNames* names() const;
  // The clock of the trace's events at the instant from which the report's times count.
  [[nodiscard]] std::uint64_t start_clock_ns() const { return trace_->begin_ns(); }
  // The report's site of a tag of the trace.
  [[nodiscard]] std::size_t site_of(Tag tag) const;
  // Has the trace followed; "", or what is wrong with it.
  [[nodiscard]] std::string follow(TraceObserver& observer) const {
    return trace_->follow({&observer}) ? "" : trace_->problem();
  }

 private:
  Report report_;
  TraceFollower* trace_ = nullptr;
  Cost cost_ = Cost::peak;
  NameFrame name_;
  std::vector<std::size_t> sites_;  // the report's site by that of the trace
  mutable std::optional<std::vector<LeakUsage>> usage_ = {};
};

// A stack's value of a cost; one that is kept is that of each holder.
struct CostPart {
  std::uint64_t value = 0;
  std::string holder =
      {};  // "held by PyTorch's cache": stands as a frame within the memory; "": none
};
// Without those of 0. May throw bad_alloc.
[[nodiscard]] std::vector<CostPart> parts_of(const LeakUsage& usage, Cost cost);

// "held by PyTorch's cache".
[[nodiscard]] std::string held_by(const KeptUsage& kept);

// Who holds what a stack never freed of one kind on one device. Threads: any, once it is made,
// which may throw bad_alloc.
class Holders {
 public:
  explicit Holders(const Exported& exported);
  // "" where it leaked, or a part of it did.
  [[nodiscard]] const std::string& of(std::size_t site, Kind kind, std::uint16_t device) const;
  [[nodiscard]] bool are_none() const { return holders_.empty(); }

 private:
  std::map<std::tuple<std::size_t, Kind, std::uint16_t>, std::string> holders_;
};

// "train (4711)".
[[nodiscard]] std::string process_name(const Report& report);

// The program and its arguments as one line; hostile characters are '?'.
[[nodiscard]] std::string command_of(const Report& report);

}  // namespace vramscope
