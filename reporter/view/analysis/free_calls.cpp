// Tells calls that freed memory from those that had nothing to free.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/free_calls.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "reporter/base/event.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

// freed: blocks, also of contexts that ended. segments: the same of segments. given_back: segments,
// in calls of the driver.
FreeCalls told_apart(const Timing& timing, const Stat& blocks, const Stat& segments,
                     std::int64_t given_back, bool is_complete) {
  FreeCalls calls{.kept = timing.free_hit.count, .by_driver = timing.free_driver.count};
  const std::uint64_t freed = positive(blocks.freed);
  const bool ended_by_calls = is_complete && segments.freed == given_back;
  if (!ended_by_calls || freed < calls.kept || freed > calls.kept + calls.by_driver) return calls;
  const std::uint64_t gave_back = freed - calls.kept;
  calls.of_nothing = calls.by_driver - gave_back;
  calls.given_back_later = positive(given_back) - std::min(positive(given_back), gave_back);
  return calls;
}

struct MemoryFunction {
  std::string_view symbol;
  Effect effect;
  Kind kind;
};
constexpr MemoryFunction kMemoryFunctions[] = {
#define DRIVER_FUNCTION(symbol, asked_as, since, stream, parameters, arguments, path, effect, \
                        kind, address, bytes)                                                 \
  {#symbol, Effect::effect, Kind::kind},
#include "interpose/table/functions.def"
#undef DRIVER_FUNCTION
};

// A graph that is destroyed frees what its launches left, which is nothing, mostly.
bool frees_memory(std::string_view symbol) {
  return std::any_of(std::begin(kMemoryFunctions), std::end(kMemoryFunctions),
                     [&](const MemoryFunction& function) {
                       return function.symbol == symbol && is_freeing(function.effect) &&
                              holds_memory(function.kind) && function.kind != Kind::graph;
                     });
}

}  // namespace

FreeCalls free_calls(const Report& report, const DeviceReport& device) {
  const DeviceStatistics& stats = device.statistics;
  FreeCalls calls = told_apart(device.timing, stats.allocation.all, stats.segment.all,
                               stats.num_device_free, report.unrecorded_calls == 0);
  // Pages of a segment that grows are mapped and unmapped in calls that no counter of frees has.
  if (device.facts.pages.map.count != 0) calls.given_back_later.reset();
  return calls;
}

FreeCalls host_free_calls(const Report& report) {
  const HostStatistics& stats = report.host.statistics;
  return told_apart(report.host.timing, stats.allocated, stats.segment, stats.num_host_free,
                    report.unrecorded_calls == 0);
}

AllFrees all_frees(const Report& report) {
  AllFrees all;
  for (const FunctionFacts& function : report.functions) {
    if (!frees_memory(function.name)) continue;
    const FunctionTotals& totals = function.totals;
    all.calls += totals.calls - std::min(totals.calls, totals.failures);
    all.total_ns += totals.time.total_ns;
  }
  for (const KindFacts& kind : report.kinds) {
    if (holds_memory(kind.kind)) all.frees += kind.frees;
  }
  return all;
}

}  // namespace vramscope
