// Says of each kind of finding what it is, what shows it, and what to do.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/advice_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

std::string amount(std::uint64_t bytes) { return amount_text(bytes); }

std::string saves_text(const Advice& advice) {
  if (advice.what == FindingKind::grows) {
    return "holds " + amount(advice.saves_bytes) + ", and more the longer it runs";
  }
  const std::string how = advice.sure == Certainty::exact     ? ""
                          : advice.sure == Certainty::at_most ? "at most "
                                                              : "about ";
  return "saves " + how +
         (advice.saves_bytes != 0 ? amount(advice.saves_bytes) : duration_text(advice.saves_ns));
}

// "PyTorch's cache 500 MiB and CuPy's pool 300 MiB".
std::string parties_text(const Advice& advice) {
  std::vector<std::string> parts;
  for (const AdviceParty& party : advice.parties) {
    parts.push_back(party.name + " " + amount(party.bytes));
  }
  return enumerated(parts);
}

std::string counted_of(const Advice& advice) {
  return count_text(static_cast<std::int64_t>(advice.count)) + " of " +
         counted(advice.of_count, "allocation");
}

std::string of_run(const Report& report) {
  return report.timeline.duration_ns == 0
             ? ""
             : "; the run took " + duration_text(report.timeline.duration_ns);
}

AdviceWords of_growth(const Report& report, const Advice& advice, const NameFrame& name) {
  std::string shown = counted_of(advice) + " of this call site " +
                      (advice.count == 1 ? "is" : "are") + " live " +
                      (advice.peak_ns != 0 ? "at the peak after " + duration_text(advice.peak_ns)
                       : advice.intervals != 0 ? "at the peak"
                                               : "at the end");
  if (advice.intervals != 0) {
    shown += "; its live bytes rose in " + std::to_string(advice.rises) + " of " +
             counted(advice.intervals, "interval") + " of the run, and fell only at its end";
  }
  if (advice.rate) {
    const auto& site = report.sites[static_cast<std::size_t>(advice.sites.front().site)];
    const CallSite where = call_site(report, site, name, kFramesShown);
    const std::string function =
        where.callers.empty() ? "" : function_name(where.callers.front(), Table::kUncut);
    shown += "; it grows by " + rate_text(*advice.rate, function);
    if (advice.rate->full_in_ns != 0) {
      shown += "; at this rate the device is full in " + duration_text(advice.rate->full_in_ns);
    }
  }
  return {.title = "Memory that only grows, a cache without a limit or a leak",
          .shown = shown,
          .to_do = "give the cache a limit, or free what a pass allocated when the pass ends",
          .command = advice.peak_ns != 0 || advice.intervals != 0 ? "sites --by growth" : "leaks"};
}

AdviceWords of_pools(const Advice& advice) {
  return {.title = "Pools of " + std::to_string(advice.parties.size()) + " libraries side by side",
          .shown = "at the peak " + parties_text(advice) +
                   "; what is idle in one cannot serve the other, and how much is idle only they "
                   "know: the saving is less than the smaller ones hold",
          .to_do =
              "let one allocator serve both libraries (RMM can serve PyTorch and CuPy), or "
              "limit or empty the smaller pool",
          .command = "peak"};
}

AdviceWords of_segments(const Report& report, const Advice& advice) {
  const bool is_of_one = advice.what == FindingKind::fragmented;
  const std::string when = advice.refused_ns != 0 ? "when memory ran out"
                           : advice.peak_ns != 0  ? "at the peak"
                                                  : "when the report was written";
  const std::string place = memory_name(report, advice.kind, advice.device);
  AdviceWords words{.command = advice.refused_ns != 0 ? "map --at oom"
                               : advice.peak_ns != 0  ? "map --at peak"
                                                      : "map"};
  if (is_of_one) {
    const AdviceSite& site = advice.sites.front();
    words.title = "Fragmentation by one call site";
    words.shown = when + " its " + counted(site.count, "block") + " of together " +
                  amount(site.bytes) + " kept " + counted(advice.count, "segment") + " of " +
                  place + " from going back, which were mostly free";
    words.to_do =
        "allocate these blocks before the others or in one piece, or free them with the others";
    return words;
  }
  words.title = "Small segments that are mostly free";
  words.shown = when + " blocks of up to 1 MiB kept " + counted(advice.count, "segment") + " of " +
                place + ", in which " + amount(advice.saves_bytes) + " were free";
  words.to_do =
      "allocate small blocks that live long in one piece, apart from those that live "
      "briefly";
  return words;
}

AdviceWords of_rounding(const Advice& advice) {
  return {.title = "Rounding",
          .shown = "at the peak " + counted(advice.count, "request") +
                   " just above a multiple of 2 MiB took the driver's pages of 2 MiB (from the "
                   "average size of each call site)",
          .to_do =
              "make sizes multiples of 2 MiB or a little less, or take several from one block; "
              "--policy pytorch --alloc-conf growing_segments:True lets blocks share pages",
          .command = "sites --by peak"};
}

AdviceWords of_pinning(const Report& report, const Advice& advice) {
  return {.title = "Host memory is pinned again and again",
          .shown = counted(advice.of_count, "call") + " that pin, at most " +
                   counted(advice.count, "allocation") +
                   " of them live at the peak; without the repetitions the pinning calls take so "
                   "much less, and unpinning takes time, too" +
                   of_run(report),
          .to_do = "pin a buffer once and use it again",
          .command = "sites --by time --kind " +
                     std::string(kKindNames[static_cast<std::size_t>(advice.kind)])};
}

AdviceWords of_temporary(const Report& report, const Advice& advice) {
  const std::size_t threads = report.threads.size();
  return {.title = "Temporary allocations in a loop",
          .shown = counted_of(advice) + " lived less than " + duration_text(advice.lived_ns) +
                   "; the saving is the time in the allocating calls" +
                   (threads > 1 ? ", summed over threads" : "") + of_run(report),
          .to_do = "allocate once before the loop, and use the memory again",
          .command = "sites --by time"};
}

AdviceWords of_late(const Advice& advice) {
  const std::string& range = advice.parties.front().name;
  const std::string& peak = advice.parties.back().name;
  return {.title = "Memory of range " + range + " is freed late",
          .shown = counted(advice.count, "allocation") + " made in it " +
                   (advice.count == 1 ? "is" : "are") + " live at the peak after " +
                   duration_text(advice.peak_ns) + (peak.empty() ? "" : ", in range " + peak) +
                   ", and freed only later; the last allocation in it was after " +
                   duration_text(advice.last_ns) + ". A trace does not record when memory is used",
          .to_do = "if nothing uses this memory after the range, free it at the end of the range",
          .command = "timeline --range " + shell_word(range)};
}

AdviceWords of_overlap(const Advice& advice) {
  return {.title = "Two phases overlap at the peak",
          .shown = "after " + duration_text(advice.peak_ns) + ", at the peak of " +
                   amount(advice.whole_bytes) + ", these ranges of different threads held " +
                   parties_text(advice) +
                   "; the saving is that of a run in which the smaller one was never there beside "
                   "the larger one",
          .to_do =
              "start one phase when the other has freed its memory, or limit how far ahead it "
              "runs",
          .command = "timeline"};
}

AdviceWords words_by_kind(const Report& report, const Advice& advice, const NameFrame& name) {
  switch (advice.what) {
    case FindingKind::grows:
      return of_growth(report, advice, name);
    case FindingKind::two_pools:
      return of_pools(advice);
    case FindingKind::fragmented:
    case FindingKind::small_segments:
      return of_segments(report, advice);
    case FindingKind::rounded:
      return of_rounding(advice);
    case FindingKind::pinned_again:
      return of_pinning(report, advice);
    case FindingKind::temporary:
      return of_temporary(report, advice);
    case FindingKind::freed_late:
      return of_late(advice);
    case FindingKind::overlap:
      return of_overlap(advice);
  }
  return {};
}

}  // namespace

AdviceWords words_of(const Report& report, const Advice& advice, const NameFrame& name) {
  AdviceWords words = words_by_kind(report, advice, name);
  words.saves = saves_text(advice);
  return words;
}

}  // namespace vramscope
