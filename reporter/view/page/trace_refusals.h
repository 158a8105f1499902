// TraceRefusals is the allocations of a trace that failed, and who held memory then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reporter/report/oom_events.h"
#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/analysis/replay/trace_filter.h"

namespace vramscope {

// Takes events in the order by_change. Of what failed what passes the filter; shares are of all
// that lived. What the driver had free is not known. Threads: one. May throw bad_alloc.
class TraceRefusals : private TraceMemory::Changes {
 public:
  // first_ns: of the trace's first event. sites: the report's site of each of the trace's. All
  // of it outlives this.
  TraceRefusals(const TraceNames& names, const TraceFilter& filter, std::uint64_t first_ns,
                const std::vector<std::size_t>& sites)
      : names_(names), filter_(filter), first_ns_(first_ns), sites_(sites) {}

  void add(const TraceEvent& one);
  // As a report has them: the first ones, and the last.
  [[nodiscard]] OomReport finish();

 private:
  struct Held {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };

  void came(const TraceBlock& block, const Event& event) override;
  void went(const TraceBlock& block, TraceMemory::End how) override;
  [[nodiscard]] std::size_t site_of(Tag tag) const;
  [[nodiscard]] OomEvent event_of(const TraceEvent& one) const;
  void tell_holders();

  const TraceNames& names_;
  const TraceFilter& filter_;
  const std::uint64_t first_ns_;
  const std::vector<std::size_t>& sites_;
  TraceMemory memory_;
  std::map<std::pair<Kind, std::uint16_t>, std::map<std::size_t, Held>> held_;  // by site
  OomReport report_;
  bool lacks_holders_ = false;  // the last of its events
  std::uint64_t now_ = 0;
};

}  // namespace vramscope
