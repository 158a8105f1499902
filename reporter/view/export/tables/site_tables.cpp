// Call sites, what each holds, and their stacks frame by frame.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/tables/table.h"

namespace vramscope {
namespace {

const char* const kSite = "number of the call site in its report";

struct SiteRow {
  TableSource& source;
  std::size_t number;
  [[nodiscard]] const Site& site() const { return source.report().sites[number]; }
};
Columns<SiteRow> site_columns() {
  return {{"site", kSite, &SiteRow::number},
          {"caller", "the innermost function outside CUDA's libraries",
           [](const SiteRow& row) { return row.source.stacks().caller(row.number); }},
          {"place",
           "that and who called it, three frames or as many as tell it apart: a row of a listing",
           [](const SiteRow& row) { return row.source.places().row(row.number); }},
          {"stack", "all frames, innermost first, without those of CUDA's libraries",
           [](const SiteRow& row) { return row.source.places().whole(row.number); }},
          {"temporary_count", "allocations freed before the thread's next one",
           [](const SiteRow& row) { return row.site().temporary_count; }},
          {"refused_count", "allocations that failed because memory ran out",
           [](const SiteRow& row) { return row.site().refused_count; }}};
}

Columns<LeakUsage> share_columns() {
  const auto of = [](std::uint64_t SiteTotals::*member) {
    return [member](const LeakUsage& row) { return row.totals.*member; };
  };
  Columns<LeakUsage> columns = {{"site", kSite, &LeakUsage::site}};
  append(columns, place_columns<LeakUsage>(&LeakUsage::kind, &LeakUsage::device));
  append(
      columns,
      {{"live_bytes", "with what is freed and waits for its stream", of(&SiteTotals::live_bytes)},
       {"live_count", "number of allocations that make up these bytes",
        of(&SiteTotals::live_count)},
       {"never_freed_bytes", "live bytes without what waits", &LeakUsage::never_freed_bytes},
       {"never_freed_count", "number of allocations that make up these bytes",
        &LeakUsage::never_freed_count},
       {"leaked_bytes", "never freed bytes without those in `kept_shares`",
        &LeakUsage::leaked_bytes},
       {"leaked_count", "number of allocations that make up these bytes", &LeakUsage::leaked_count},
       {"peak_bytes", "live at the peak of the kind and device", of(&SiteTotals::peak_bytes)},
       {"peak_count", "number of allocations that make up these bytes",
        of(&SiteTotals::peak_count)},
       {"total_bytes", "requested bytes ever allocated", of(&SiteTotals::total_bytes)},
       {"total_count", "number of allocations in the whole run", of(&SiteTotals::total_count)},
       {"total_ns", "time in the allocating calls", of(&SiteTotals::total_ns)}});
  return columns;
}

struct KeptRow {
  const LeakUsage& usage;
  const KeptUsage& kept;
};
Columns<KeptRow> kept_columns() {
  Columns<KeptRow> columns = {{"site", kSite, [](const KeptRow& row) { return row.usage.site; }}};
  append(columns, place_columns<KeptRow>([](const KeptRow& row) { return row.usage.kind; },
                                         [](const KeptRow& row) { return row.usage.device; }));
  append(columns, {{"held_by", "cache of a framework, or library that keeps it by design",
                    [](const KeptRow& row) { return row.kept.holder; }},
                   {"bytes", "never freed", [](const KeptRow& row) { return row.kept.bytes; },
                    InUnit("bytes")},
                   {"count", "number of allocations that make up these bytes",
                    [](const KeptRow& row) { return row.kept.count; }}});
  return columns;
}

struct StepRow {
  std::size_t site, depth;
  std::uint32_t frame;
};
struct FrameRow {
  std::uint32_t number;
  const NamedFrame& frame;
};
Columns<FrameRow> frame_columns() {
  return {
      {"frame", "number of the frame in its report", &FrameRow::number},
      {"function", "name; `train+0x1234` without symbols",
       [](const FrameRow& row) { return row.frame.function; }},
      {"file", "source file; empty: unknown", [](const FrameRow& row) { return row.frame.file; }},
      {"line", "line in it; 0: unknown", [](const FrameRow& row) { return row.frame.line; }},
      {"module", "path of the program or library; empty: unknown, or a frame of Python",
       [](const FrameRow& row) { return row.frame.module; }},
      {"offset", "inside the module", [](const FrameRow& row) { return row.frame.offset; }},
      {"inlined", "into the next frame", [](const FrameRow& row) { return row.frame.is_inlined; }}};
}

}  // namespace

void add_site_tables(std::vector<ExportTable>& tables) {
  tables.push_back(table_of_rows<SiteRow>(
      {"sites", "a call site: a distinct call stack that allocates", {"site"}}, site_columns(),
      [](TableSource& source, const auto& add) {
        for (std::size_t i = 0; i < source.report().sites.size(); ++i) add(SiteRow{source, i});
      }));
  tables.push_back(
      table_of_rows<StepRow>({"stacks", "a frame of a call site's stack", {"site", "depth"}},
                             {{"site", kSite, &StepRow::site},
                              {"depth", "0: innermost", &StepRow::depth},
                              {"frame", "number in `frames`", &StepRow::frame}},
                             [](TableSource& source, const auto& add) {
                               for (std::size_t i = 0; i < source.report().sites.size(); ++i) {
                                 std::size_t depth = 0;
                                 for (const std::uint32_t frame : source.stacks().stack(i))
                                   add(StepRow{i, depth++, frame});
                               }
                             }));
  // After the stacks, which number them.
  tables.push_back(table_of_rows<FrameRow>({"frames", "a frame of call stacks", {"frame"}},
                                           frame_columns(),
                                           [](TableSource& source, const auto& add) {
                                             NamedStacks& stacks = source.stacks();
                                             for (std::uint32_t i = 0; i < stacks.frames(); ++i)
                                               add(FrameRow{i, stacks.frame(i)});
                                           }));
  tables.push_back(
      table_of_rows<LeakUsage>({"shares", "what a call site holds of one kind and device", {}},
                               share_columns(), [](TableSource& source, const auto& add) {
                                 for (const LeakUsage& usage : source.exported().usage())
                                   add(usage);
                               }));
  tables.push_back(table_of_rows<KeptRow>(
      {"kept_shares",
       "never freed memory of a call site that a framework's cache holds, or a library keeps by "
       "design",
       {}},
      kept_columns(), [](TableSource& source, const auto& add) {
        for (const LeakUsage& usage : source.exported().usage())
          for (const KeptUsage& kept : usage.kept) add(KeptRow{usage, kept});
      }));
}

}  // namespace vramscope
