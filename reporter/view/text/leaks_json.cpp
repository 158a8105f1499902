// What was never freed as JSON and as CSV.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/leaks_text.h"
#include "reporter/view/text/suppressed_text.h"

namespace vramscope {

std::vector<LeakHolder> left_by_process(const Report& report, const Leaks& leaks) {
  std::vector<LeakHolder> processes;
  for (std::size_t i = 0; i < leaks.left.size(); ++i) {
    const MergedProcess& one = report.processes[i];
    processes.push_back(
        {.process = &one.process, .bytes = leaks.left[i].most, .death = death_word(one)});
    if (leaks.left[i].least != leaks.left[i].most) processes.back().at_least = leaks.left[i].least;
  }
  return processes;
}

namespace {

// Of the rate at which what is not freed of a place becomes more.
Column<Leak> rate_column(const Report& report, const char* name, const char* doc,
                         std::uint64_t GrowthRate::*value) {
  return {name, doc, [&report, value](const Leak& leak) {
            const std::optional<GrowthRate> rate = growth_rate(report, leak);
            return rate ? std::optional((*rate).*value) : std::nullopt;
          }};
}

// The name of what the rate is counted in, where it is that.
Column<Leak> name_column(const Report& report, const char* name, const char* doc, GrowthUnit unit) {
  return {name, doc, [&report, unit](const Leak& leak) {
            const std::optional<GrowthRate> rate = growth_rate(report, leak);
            return rate && rate->unit == unit ? std::optional(rate->name) : std::nullopt;
          }};
}

Columns<LeakHolder> holder_columns() {
  using Row = LeakHolder;
  return {{"pid", "process id", [](const Row& row) { return row.process->pid; }},
          {"rank", "`null`: none", [](const Row& row) { return if_known(row.process->rank); }},
          {"hostname", "machine", [](const Row& row) { return row.process->hostname; }},
          {"bytes", "requested, not freed", &Row::bytes}};
}

// Of a row, which `row` gives.
template <class Row>
Columns<Row> suppression_columns(std::function<const Suppression&(const Row&)> of) {
  return {
      {"pattern", "the pattern, as in the file", [=](const Row& row) { return of(row).pattern; }},
      {"file", "suppression file", [=](const Row& row) { return of(row).source; }},
      {"line", "of the file", [=](const Row& row) { return of(row).line; }}};
}

}  // namespace

Columns<Leak> leak_columns(const Report& report, const NameFrame& name) {
  const auto share = within(&Leak::share);
  const auto site = [](const Leak& leak) { return static_cast<std::int64_t>(leak.share.site); };
  return with_site<Leak>(
      report, name, site,
      {{"class", "what it looks like: see [leaks](../manual/leaks.md#classes)", &Leak::looks,
        OneOf(kLeakClassNames)},
       kind_column<Leak>(share(&Share::kind)),
       device_column<Leak>(share(&Share::device)),
       {"bytes", "requested, not freed", share(&Share::bytes), Titled("BYTES")},
       {"count", "allocations", share(&Share::count), Titled("COUNT", 1)},
       {{"MEMORY"},
        [&report](const Leak& leak) {
          return memory_name(report, leak.share.kind, leak.share.device);
        }},
       {"tenths", "in how many tenths of the run's allocations they were made; 0: unknown",
        &Leak::tenths},
       {"by_initialiser", "made before `main`, or while a library was being loaded",
        &Leak::by_initialiser},
       rate_column(report, "rate_bytes",
                   "bytes added per period; `null`: no growth, or the rate is not known",
                   &GrowthRate::bytes),
       rate_column(report, "rate_periods",
                   "length of a period: in calls of the place, passes of `rate_range`, or marks "
                   "`rate_mark`",
                   &GrowthRate::periods),
       name_column(report, "rate_range",
                   "named range whose passes are counted; `null`: calls or marks are counted",
                   GrowthUnit::pass),
       name_column(report, "rate_mark",
                   "name of the marks that are counted; `null`: calls or passes are counted",
                   GrowthUnit::mark),
       {"full_in_ns",
        "time until the device's free memory is used up at this rate; `null`: not known",
        [&report](const Leak& leak) {
          const std::optional<GrowthRate> rate = growth_rate(report, leak);
          return if_not_zero(rate ? rate->full_in_ns : 0);
        }}});
}

Columns<LeakedMemory> leaked_memory_columns(const Report& report) {
  using Row = LeakedMemory;
  return {kind_column<Row>(&Row::kind),
          device_column<Row>(&Row::device),
          {"bytes", "requested, not freed", &Row::bytes, Titled("BYTES")},
          {"count", "allocations", &Row::count, Titled("COUNT")},
          {"sites", "number of rows", &Row::sites, Titled("ROWS")},
          {{"MEMORY"},
           [&report](const Row& row) { return memory_name(report, row.kind, row.device); }}};
}

Columns<Leaks> leaks_fields(const Report& report, const Suppressions& suppressions,
                            const NameFrame& name, std::size_t most) {
  using Used = UsedSuppression;
  Columns<LeakHolder> holder = holder_columns();
  holder.push_back({"count", "allocations", &LeakHolder::count});
  Columns<LeakHolder> left = holder_columns();
  left.push_back({"least_bytes",
                  "lower bound, where `bytes` is an upper bound: for places beyond the 32 largest "
                  "it is not known what stays by design",
                  [](const LeakHolder& row) { return row.at_least.value_or(row.bytes); }});
  Columns<Leak> leak = leak_columns(report, name);
  const auto holders = std::make_shared<std::optional<LeakHolders>>();  // of the leaks shown
  leak.push_back({"processes",
                  "processes of a merged report that hold it, the largest first; a process is "
                  "listed only if the place is among its 32 largest",
                  holder, [holders](const Leak& one) { return (*holders)->of(one.share); }});
  Columns<Used> used = suppression_columns<Used>(
      [&](const Used& row) -> const Suppression& { return suppressions.rows()[row.row]; });
  append(used, {{"bytes", "left out", &Used::bytes},
                {"count", "allocations", &Used::count},
                {"sites", "places", &Used::sites}});
  using Held = HeldByCache;
  const Columns<Held> cache{{"cache", "\"PyTorch's cache\"",
                             [](const Held& row) { return framework_caches()[row.row].name; }},
                            {"bytes", "number of blocks that it holds", &Held::bytes},
                            {"count", "allocations", &Held::count},
                            {"sites", "places", &Held::sites}};
  const Columns<Suppression> unused = suppression_columns<Suppression>(std::identity());
  return {{"trigger", "why the report was written; `trace`: it was made from a trace",
           [&](const Leaks&) { return report.trigger; }},
          {"final", "the program had ended", [&](const Leaks&) { return is_final(report); }},
          {"estimated", "numbers of sites are estimates",
           [&](const Leaks&) { return report.sample_bytes != 0; }},
          {"without_site_bytes", "never freed, with unknown call stack", &Leaks::without_site},
          {"memory", "sums, the largest first", leaked_memory_columns(report), &Leaks::memory},
          {"processes",
           "what each process of a merged report left, without suppressed memory, in the report's "
           "order; empty: one process, or merged by an earlier version",
           left, [&](const Leaks& leaks) { return left_by_process(report, leaks); }},
          {"leaks", "places, by class, then the largest first", leak,
           [&report, holders, most](const Leaks& leaks) {
             holders->emplace(report, leaks.left_shares);
             return first_rows(leaks.leaks, most);
           }},
          {"suppressed", "lines of suppression files that matched", used, &Leaks::suppressed},
          {"caches",
           "memory held by caches of frameworks, which is no leak; only with Vramscope's default "
           "suppressions",
           cache, &Leaks::caches},
          {"unused_suppressions", "lines of `--suppress` files that matched nothing", unused,
           [&](const Leaks& leaks) { return unused_suppressions(leaks, suppressions); }}};
}

std::string leaks_json(const Report& report, const Leaks& leaks, const Suppressions& suppressions,
                       const NameFrame& name, std::size_t most) {
  return json_of(leaks, leaks_fields(report, suppressions, name, most));
}

}  // namespace vramscope
