// Leaves out of a report what a listing is not about, and adds the rest up.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/allocating_threads.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/filter/instant.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

std::uint64_t measured(const SiteTotals& totals, Measure measure) {
  switch (measure) {
    case Measure::peak:
      return totals.peak_bytes;
    case Measure::live:
      return totals.live_bytes;
    case Measure::total:
      return totals.total_bytes;
    case Measure::any:
      return std::max(totals.peak_bytes, totals.live_bytes);
  }
  return 0;
}

// Only the parts that pass, and totals of these. What is known of the site as a whole alone goes.
template <class Passes>
void filter_parts(Site& site, const Passes& passes) {
  const std::size_t before = site.parts.size();
  std::erase_if(site.parts, [&](const SitePart& part) { return !passes(part); });
  if (site.parts.size() == before) return;
  site.totals = {};
  const bool estimates = site.estimate.has_value();
  site.estimate.reset();
  if (estimates) site.estimate.emplace();
  for (const SitePart& part : site.parts) {
    site.totals += part.totals;
    if (site.estimate) *site.estimate += numbers_of(part);
  }
  site.is_part = true;
  site.refused_count = site.refused_bytes = site.temporary_count = 0;
  for (auto* const list : {&site.lifetimes, &site.sizes, &site.live_by_age, &site.live_past}) {
    list->clear();
  }
}

template <class Passes>
void keep_sites(Report& report, const Passes& passes) {
  keep_site_numbers(report);
  std::vector<std::int64_t> now(report.sites.size(), -1);
  std::vector<Site> left;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    if (!passes(report.sites[i])) continue;
    now[i] = static_cast<std::int64_t>(left.size());
    left.push_back(std::move(report.sites[i]));
  }
  report.sites = std::move(left);
  renumber_sites(report, now);
}

// Whether call stacks pass by whose they are and what is in them.
class StackFilter {
 public:
  StackFilter(const Report& report, const Filter& filter, const NameFrame& name)
      : report_(report), filter_(filter), places_(report, filter.site, name) {}
  [[nodiscard]] bool pass(const Site& site) {
    if (!filter_.owner.empty() && owner_of_site(report_, site) != filter_.owner) return false;
    return filter_.site.empty() || places_.is_in(site.frames);
  }
  [[nodiscard]] bool pass(std::int64_t site) {
    if (filter_.owner.empty() && filter_.site.empty()) return true;
    return site >= 0 && pass(report_.sites[static_cast<std::size_t>(site)]);
  }

 private:
  const Report& report_;
  const Filter& filter_;
  PlaceSearch places_;
};

void filter_sites(Report& report, const Filter& filter, const FilterUse& use,
                  const NameFrame& name) {
  const bool by_memory = filter.device || !filter.kind.empty();
  const bool by_stack = use.axis == std::nullopt;  // else their sums alone are of use
  StackFilter stacks(report, filter, name);
  const auto passes = [&](Site& site) {
    if (by_memory) {
      filter_parts(site,
                   [&](const SitePart& part) { return filter.passes(part.kind, part.device); });
    }
    if (by_memory && site.parts.empty()) return false;
    if (!by_stack) return true;
    if (filter.chooses_rows() && site.is_left_out) return false;
    return stacks.pass(site);
  };
  keep_sites(report, passes);
}

bool passes(const Filter& filter, const LedgerEntry& entry) {
  if (!filter.has_kind(entry.kind)) return false;
  if (!filter.owner.empty() && entry.owner != filter.owner) return false;
  const bool of_host = entry.kind == "pinned" || entry.kind == "registered" || entry.kind == "host";
  if (filter.device && (of_host || entry.device != *filter.device)) return false;
  return std::max({entry.current_bytes, entry.peak_bytes, entry.device_bytes}) >=
         filter.least_bytes();
}

void filter_segments(std::vector<SegmentFacts>& segments, const Filter& filter) {
  std::erase_if(segments, [&](const SegmentFacts& segment) {
    return !filter.passes(segment.kind, segment.device);
  });
}

// Of a report, or of a process that was merged into it.
template <class Facts>
void filter_kinds(Facts& facts, const Filter& filter) {
  const auto fails = [&](const auto& row) { return !filter.passes(row.kind, row.device); };
  std::erase_if(facts.kinds, fails);
  std::erase_if(facts.timeline.series, fails);
  std::erase_if(facts.oom.events, fails);
  // All kinds together are told of all that a device held.
  std::erase_if(facts.joint_peaks, [&](const JointPeak& joint) {
    const bool chooses = filter.chooses_rows() || !filter.kind.empty() || filter.has_times();
    return chooses || !filter.passes(Kind::device, joint.facts.device);
  });
}

void filter_memory(Report& report, const Filter& filter) {
  filter_kinds(report, filter);
  for (MergedProcess& process : report.processes) {
    filter_kinds(process, filter);
    std::erase_if(process.live,
                  [&](const LiveShare& share) { return !filter.passes(share.kind, share.device); });
    std::erase_if(process.devices, [&](const ProcessDevice& one) {
      return filter.device && one.index != *filter.device;
    });
  }
  std::erase_if(report.devices, [&](const DeviceReport& one) {
    return filter.device && one.facts.index != *filter.device;
  });
  const bool counts = filter.has_kind(kKindNames[static_cast<std::size_t>(Kind::device)]);
  for (MergedProcess& process : report.processes) {
    for (ProcessDevice& device : process.devices) {
      if (!filter.kind.empty()) device.reserved_least_bytes = device.reserved_most_bytes = -1;
      if (!counts) device.reserved_peak_bytes = device.needed_most_bytes = 0;  // of plain memory
    }
  }
  for (DeviceReport& device : report.devices) {
    filter_segments(device.segments, filter);
    device.used = device.used && counts;  // its counters are those of plain memory
  }
  filter_segments(report.host.segments, filter);
  filter_segments(report.host.registrations, filter);
}

using Sums = std::map<std::pair<Kind, std::uint16_t>, SiteTotals>;

void set_kinds(Report& report, const Sums& sums) {
  for (KindFacts& kind : report.kinds) {
    const auto found = sums.find({kind.kind, kind.device});
    const SiteTotals sum = found == sums.end() ? SiteTotals{} : found->second;
    kind.peak_bytes = sum.peak_bytes;
    kind.current_bytes = sum.live_bytes;
    kind.allocations = sum.total_count;
    kind.frees = sum.total_count - std::min(sum.live_count, sum.total_count);
  }
}

Sums sums_of_sites(const Report& report) {
  Sums sums;
  for (const Site& site : report.sites) {
    for (const SitePart& part : site.parts) sums[{part.kind, part.device}] += numbers_of(part);
  }
  return sums;
}

Sums sums_of_axis(const Report& report, Axis axis) {
  Sums sums;
  for (const AxisEntry& row : report.axes) {
    if (row.axis == axis) sums[{row.kind, row.device}] += row.totals;
  }
  return sums;
}

bool holds_any(const Report& report, unsigned device) {
  return std::any_of(report.sites.begin(), report.sites.end(), [device](const Site& site) {
    return std::any_of(site.parts.begin(), site.parts.end(), [device](const SitePart& part) {
      return has_device(part.kind) && part.device == device;
    });
  });
}

// What is known of all call stacks together is not known of some.
void keep_figures_of_rows(Report& report, const Filter& filter, const FilterUse& use) {
  report.chosen->by_rows = true;
  report.chosen->axis = use.axis;
  set_kinds(report, use.axis ? sums_of_axis(report, *use.axis) : sums_of_sites(report));
  report.timeline.series.clear();
  report.host.timing = {};
  if (use.axis) return;
  const auto is_of_others = [](const SegmentFacts& segment) {
    return std::none_of(segment.blocks.begin(), segment.blocks.end(),
                        [](const BlockFacts& block) { return block.site >= 0; });
  };
  for (DeviceReport& device : report.devices) {
    device.used = device.used && holds_any(report, device.facts.index);
    std::erase_if(device.segments, is_of_others);
  }
  std::erase_if(report.host.segments, is_of_others);
  std::erase_if(report.host.registrations, is_of_others);
  std::erase_if(report.axes, [&](const AxisEntry& row) { return row.axis != Axis::owner; });
  if (!filter.site.empty() || !filter.min_bytes.empty()) report.axes.clear();
  if (!filter.site.empty()) report.ledger.clear();
}

void filter_rows(Report& report, const Filter& filter, const FilterUse& use,
                 const NameFrame& name) {
  filter_sites(report, filter, use, name);
  std::erase_if(report.ledger, [&](const LedgerEntry& row) { return !passes(filter, row); });
  std::erase_if(report.axes, [&](const AxisEntry& row) {
    return !filter.passes(row.kind, row.device) || !filter.passes(row.axis, row.value) ||
           std::max(row.own_peak_bytes, row.totals.live_bytes) < filter.least_bytes();
  });
  if (filter.chooses_rows()) keep_figures_of_rows(report, filter, use);
}

bool is_between(std::int64_t ns, const Filter& filter) {
  if (filter.from.empty() && filter.to.empty()) return true;
  return ns >= 0 && static_cast<std::uint64_t>(ns) >= read_instant(filter.from).value_or(0) &&
         static_cast<std::uint64_t>(ns) <= read_instant(filter.to).value_or(UINT64_MAX);
}

// Segments whose blocks all fail go. Free ones are nobody's.
void choose_segments(Report& report, const Filter& filter, const NameFrame& name) {
  StackFilter stacks(report, filter, name);
  const bool by_block = filter.chooses_rows() || filter.has_times();
  report.chosen->by_rows = by_block;
  const std::uint64_t least = filter.least_bytes();
  const auto fails = [&](const SegmentFacts& segment) {
    return by_block &&
           std::none_of(segment.blocks.begin(), segment.blocks.end(), [&](const BlockFacts& block) {
             return block.state != BlockState::inactive && block.requested_size >= least &&
                    is_between(block.born_ns, filter) && stacks.pass(block.site);
           });
  };
  for (DeviceReport& device : report.devices) std::erase_if(device.segments, fails);
  std::erase_if(report.host.segments, fails);
  std::erase_if(report.host.registrations, fails);
}

void choose_refusals(Report& report, const Filter& filter, const NameFrame& name) {
  StackFilter stacks(report, filter, name);
  std::erase_if(report.oom.events, [&](const OomEvent& event) {
    return !filter.passes(Axis::thread, event.thread) || !filter.passes(Axis::range, event.range) ||
           event.bytes < filter.least_bytes() ||
           !is_between(static_cast<std::int64_t>(event.time_ns), filter) ||
           !stacks.pass(event.site);
  });
  // Of call stacks that were never served all is known but whose they are.
  const bool by_stack_alone = !filter.device && filter.kind.empty() && filter.thread.empty() &&
                              filter.range.empty() && filter.min_bytes.empty() &&
                              filter.from.empty() && filter.to.empty();
  for (Site& site : report.sites) {
    if (!by_stack_alone || !stacks.pass(site)) site.refused_count = 0;
  }
}

void choose_curves(Report& report, const Filter& filter) {
  const std::uint64_t least = filter.least_bytes();
  std::erase_if(report.timeline.series, [&](const TimelineSeries& series) {
    const auto most = std::max_element(series.highest.begin(), series.highest.end());
    return (most == series.highest.end() ? 0 : *most) < least;
  });
  std::erase_if(report.kinds, [&](const KindFacts& kind) { return kind.peak_bytes < least; });
}

void choose_calls(Report& report, const Filter& filter) {
  std::erase_if(report.axes, [&](const AxisEntry& row) {
    return row.axis != Axis::thread || !filter.passes(row.kind, row.device) ||
           !filter.passes(Axis::thread, row.value);
  });
  const Pattern pattern(filter.function);
  std::erase_if(report.functions, [&](const FunctionFacts& function) {
    return !filter.function.empty() && !pattern.is_in(function.name);
  });
}

}  // namespace

void leave_out_kinds_of_views(Report& report) {
  const auto is_view = [](const auto& row) { return !holds_memory(row.kind); };
  std::erase_if(report.kinds, is_view);
  std::erase_if(report.axes, is_view);
  std::erase_if(report.timeline.series, is_view);
  std::erase_if(report.ledger, [](const LedgerEntry& entry) {
    const std::optional<Kind> kind = kind_of(entry.kind);
    return kind && !holds_memory(*kind);
  });
}

void leave_out_views(Report& report) {
  leave_out_kinds_of_views(report);
  keep_sites(report, [](Site& site) {
    const bool had_parts = !site.parts.empty();
    filter_parts(site, [](const SitePart& part) { return holds_memory(part.kind); });
    return !had_parts || !site.parts.empty();
  });
}

void leave_out_small_rows(Report& report, const Filter& filter, const FilterUse& use,
                          const RowOfSite& row_of) {
  if (filter.min_bytes.empty() || use.subject != Subject::rows || use.axis) return;
  // By row; of rows of single memories kind and device, too.
  using Row = std::pair<std::size_t, std::pair<Kind, std::uint16_t>>;
  const auto its_row = [&](std::size_t site, const SitePart& part) {
    return Row(row_of ? row_of(site) : site, use.row_is_of_memory
                                                 ? std::pair(part.kind, part.device)
                                                 : std::pair(Kind::device, std::uint16_t{0}));
  };
  std::map<Row, std::uint64_t> bytes;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    for (const SitePart& part : report.sites[i].parts) {
      bytes[its_row(i, part)] += measured(numbers_of(part), use.measure);
    }
  }
  const std::uint64_t least = filter.least_bytes();
  const Site* const first = report.sites.data();
  keep_sites(report, [&](Site& site) {
    const auto index = static_cast<std::size_t>(&site - first);
    filter_parts(site, [&](const SitePart& part) { return bytes[its_row(index, part)] >= least; });
    return least == 0 || !site.parts.empty();
  });
  keep_figures_of_rows(report, filter, use);
}

void filter_report(Report& report, const Filter& filter, const FilterUse& use,
                   const NameFrame& name) {
  if (filter.is_empty()) return;
  if (!is_of_several(report)) note_caches(report);  // what tells caches apart may not pass
  std::vector<LedgerEntry> ledger = report.ledger;
  filter_memory(report, filter);
  report.chosen = Chosen{.by_rows = false,
                         .axis = {},
                         .kind = filter.kind.empty() ? std::nullopt : kind_of(filter.kind),
                         .threads = threads_among(report.axes,
                                                  [&](const AxisEntry& row) {
                                                    return holds_memory(row.kind) &&
                                                           filter.passes(row.kind, row.device);
                                                  }),
                         .kinds = report.kinds,
                         .ledger = std::move(ledger)};
  switch (use.subject) {
    case Subject::rows:
      return filter_rows(report, filter, use, name);
    case Subject::segments:
      return choose_segments(report, filter, name);
    case Subject::refusals:
      return choose_refusals(report, filter, name);
    case Subject::curves:
      return choose_curves(report, filter);
    case Subject::calls:
      return choose_calls(report, filter);
    case Subject::counters:
      return;
  }
}

}  // namespace vramscope
