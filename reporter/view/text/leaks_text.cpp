// What was never freed, as text and as JSON.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/leaks_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/leak_holders.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/listing/stack_difference.h"
#include "reporter/view/listing/tree_text.h"
#include "reporter/view/text/holders_text.h"
#include "reporter/view/text/leak_rows.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/suppressed_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kStacksShown = 5;  // in full, without being asked
constexpr std::size_t kIndent = 6;       // columns before a frame

// "2,000 call sites, shown as 3 rows", where rows stand for several: call stacks that read alike,
// frame by frame.
std::string sites_text(const Report& report, const Leaks& leaks) {
  std::size_t sites = 0;
  for (const Leak& leak : leaks.leaks) {
    const std::vector<std::uint32_t>& numbers = report.sites[leak.share.site].numbers;
    sites += std::max<std::size_t>(numbers.size(), 1);
  }
  const std::size_t rows = leaks.leaks.size();
  return sites <= rows ? counted(rows, "call site")
                       : counted(sites, "call site") + ", shown as " + counted(rows, "row");
}

void add_heading(Document& text, const Report& report, const Leaks& leaks) {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  for (const Leak& leak : leaks.leaks) {
    bytes += leak.share.bytes;
    count += leak.share.count;
  }
  const std::string suppressed = suppressed_clause(leaks);
  std::string what = never_freed_text(report) + ": ";
  if (leaks.leaks.empty())
    return text.sentence(what + (suppressed.empty() ? "nothing." : "only" + suppressed + "."));
  what += bytes_text(bytes) + " in " + counted(count, "allocation") + " of " +
          sites_text(report, leaks) + (suppressed.empty() ? "" : ", and" + suppressed);
  if (!sampling_text(report).empty()) what += ", " + sampling_text(report);
  text.title(what);
}

// "; 256 KiB every 50 calls of on_error; at this rate the device is full in 3 h".
std::string growth_text(const GrowthRate& rate, const Leak& leak, const LeaksChoice& choice) {
  const std::uint32_t front = choice.fronts->of_sites.front()[leak.share.site];
  const std::string function = front == SiteFronts::kUnknown
                                   ? ""
                                   : function_name(choice.fronts->callers[front], Table::kUncut);
  return "; " + rate_text(rate, function) +
         (rate.full_in_ns == 0
              ? ""
              : "; at this rate the device is full in " + duration_text(rate.full_in_ns));
}

// ", allocated in 9 of 10 equal parts of the run (measured in allocations)", "" where that is not
// known or says nothing.
std::string when_text(const Report& report, const Leak& leak, const LeaksChoice& choice) {
  if (leak.by_initialiser) return ", by an initialiser";
  if (const auto rate = growth_rate(report, leak)) return growth_text(*rate, leak, choice);
  if (leak.is_in_one_go) {
    const std::uint64_t span_ns = report.sites[leak.share.site].live_span_ns;
    const bool is_known = !is_merged(report) && span_ns != 0;
    return ", one after the other" + (is_known ? ", in " + duration_text(span_ns) : "");
  }
  if (leak.looks == LeakClass::late || leak.tenths == 0) return "";
  return ", allocated in " + std::to_string(leak.tenths) +
         " of 10 equal parts of the run (measured in " +
         (is_measured_in_time(report) ? "time)" : "allocations)");
}

// The program's own callers, short.
std::string short_stack(const CallSite& site, const Page& page) {
  std::string result;
  for (const Caller& caller : site.callers) {
    const std::size_t taken = kIndent + columns(in_place("", caller.place));
    const std::size_t room = page.width > taken ? page.width - taken : 0;
    const std::string name = function_name(caller, page.cuts ? room : Table::kUncut);
    result +=
        fitted(std::string(kIndent, ' ') + printable(in_place(name, caller.place), page), page) +
        "\n";
    const bool is_first = &caller == &site.callers.front();
    if (!is_first || caller.line.empty()) continue;
    result += fitted(std::string(kIndent, ' ') + "| " + printable(caller.line, page), page) + "\n";
  }
  return result.empty() ? std::string(kIndent, ' ') + "unknown\n" : result;
}

// "20 of 31 allocations" of the place; of the only one "1 allocation".
std::string count_of_made(const Leak& leak, const Site& site) {
  const std::uint64_t made = site.totals.total_count;
  if (made <= 1 || made < leak.share.count) return counted(leak.share.count, "allocation");
  return count_text(leak.share.count) + " of " + counted(made, "allocation");
}

void add_leak(Document& text, const Report& report, const Leak& leak, const std::string& whose,
              const NameFrame& name, const Page& page, const LeaksChoice& choice) {
  const Site& site = report.sites[leak.share.site];
  const CallSite where = call_site(report, site, name, kAllFrames);
  std::string line = bytes_text(leak.share.bytes) + " in " + count_of_made(leak, site) + ", " +
                     memory_name(report, leak.share.kind, leak.share.device);
  if (!where.entry.empty()) line += ", " + where.entry;
  line += when_text(report, leak, choice) + whose;
  if (leak.may_be_repeated) {
    line += "; whether one process allocated there again, only its own report tells";
  }
  text.paragraph(line);
  text.drawing(choice.whole_stacks ? whole_stack_text(where, page, kIndent)
                                   : short_stack(folded(where), page));
}

// Reports of earlier versions measure the run in time.
void add_class_title(Document& text, const Report& report, LeakClass looks) {
  const bool in_time = is_measured_in_time(report);
  const auto tenth = [&](const std::string& which) {
    return in_time ? "in the " + which + " tenth of the run's time"
                   : "among the " + which + " tenth of the run's allocations";
  };
  std::string title;
  switch (looks) {
    case LeakClass::grows:
      title = "Grows: allocated again and again over the run, and kept";
      break;
    case LeakClass::left:
      title = tells_frees(report) ? "Left: allocated during the run" : "Live at the snapshot";
      break;
    case LeakClass::late:
      title = "Late: " + tenth("last") + ", and perhaps in use to the end";
      break;
    case LeakClass::kept:
      title = "Perhaps kept on purpose: " + tenth("first") + ", and not again";
      break;
  }
  text.gap();
  text.title(title);
}

// The first ones with their stacks, the others a row each.
void add_classes(Document& text, const Report& report, const Leaks& leaks, const NameFrame& name,
                 const Page& page, const LeaksChoice& choice) {
  const std::size_t shown = rows_shown(leaks.leaks.size(), choice.most);
  const LeakHolders holders(report, leaks.left_shares);
  std::size_t next = 0;
  while (next < shown) {
    const LeakClass looks = leaks.leaks[next].looks;
    add_class_title(text, report, looks);
    std::vector<Leak> others;
    for (; next < shown && leaks.leaks[next].looks == looks; ++next) {
      if (choice.whole_stacks || next < kStacksShown) {
        const Share& share = leaks.leaks[next].share;
        const std::string whose =
            holders_text(holders.of(share), report.processes.size(), share.bytes);
        add_leak(text, report, leaks.leaks[next], whose, name, page, choice);
      } else {
        others.push_back(leaks.leaks[next]);
      }
    }
    const auto site = within(&Leak::share)(&Share::site);
    const Columns<Leak> columns = leak_columns(report, name);
    add_listing(text, site_listing(report, name, columns, others, site, "WHERE", page), page);
  }
  text.paragraph(more_sites_text(leaks.leaks.size() - shown));
}

// A tree for each class and memory.
void add_class_trees(Document& text, const Report& report, const Leaks& leaks,
                     const NameFrame& name, const Page& page, std::size_t most) {
  using Memory = std::pair<Kind, std::uint16_t>;
  std::map<LeakClass, std::map<Memory, std::vector<Share>>> classes;
  for (const Leak& leak : leaks.leaks) {
    classes[leak.looks][{leak.share.kind, leak.share.device}].push_back(leak.share);
  }
  for (const auto& [looks, memories] : classes) {
    add_class_title(text, report, looks);
    for (const auto& [memory, shares] : memories) {
      if (leaks.memory.size() > 1) {
        text.paragraph(memory_name(report, memory.first, memory.second));
      }
      text.append(tree_text(report, name, shares, "BYTES", page, most));
    }
  }
}

// Of several processes the largest first, and whose they are; stacks are another question.
void add_merged_rows(Document& text, const Report& report, const Leaks& leaks,
                     const NameFrame& name, const Page& page, std::size_t most) {
  if (leaks.leaks.empty()) return;
  const LeakHolders holders(report, leaks.left_shares);
  std::vector<LeakRow> all;
  for (const Leak& leak : leaks.leaks) {
    all.push_back(row_of(report, leak, name));
    all.back().holders = holders.of(leak.share);
  }
  text.append_apart(leak_rows_text(std::move(all), report.processes.size(), page, most,
                                   is_measured_in_time(report) ? "time" : "allocations"));
}

// Nothing where the filter lets nothing pass, but for bytes: what was freed may have been larger.
void add_next(Document& text, const Report& report, const Leaks& leaks, const Page& page,
              const LeaksChoice& choice) {
  const auto is_empty = [](const KindFacts& kind) {
    return kind.allocations == 0 && kind.peak_bytes == 0;
  };
  const auto is_by_bytes = [](const auto& option) { return option.first == "--min-bytes"; };
  const bool chooses =
      report.chosen && std::none_of(page.filters.begin(), page.filters.end(), is_by_bytes);
  if (chooses && std::all_of(report.kinds.begin(), report.kinds.end(), is_empty)) return;
  text.next(leaks.leaks.empty()   ? "peak"
            : choice.whole_stacks ? "sites --by growth"
                                  : "leaks --full",
            choice.path, choice.suppressions);
}

}  // namespace

Document leaks_text(const Report& report, const Leaks& leaks, const Suppressions& suppressions,
                    const NameFrame& name, const Page& page, const LeaksChoice& given) {
  LeaksChoice choice = given;
  // A wrapper of cudaMalloc is called by all places: the rate is of the function behind it.
  const bool grows = std::any_of(leaks.leaks.begin(), leaks.leaks.end(),
                                 [](const Leak& leak) { return leak.looks == LeakClass::grows; });
  const Report* const reports[] = {&report};
  if (grows) choice.fronts = std::make_shared<const SiteFronts>(fronts_of_sites(reports, name));
  Document text;
  add_heading(text, report, leaks);
  text.paragraph(spread_text(left_by_process(report, leaks)));
  if (leaks.memory.size() > 1) {  // of one the heading says it
    text.table(table_of(leaked_memory_columns(report), leaks.memory, page));
  }
  if (page.stacks == Stacks::as_tree) {
    add_class_trees(text, report, leaks, name, page, choice.most);
  } else if (is_of_several(report) && !choice.whole_stacks) {
    add_merged_rows(text, report, leaks, name, page, choice.most);
  } else {
    add_classes(text, report, leaks, name, page, choice);
  }
  if (leaks.without_site != 0) {
    text.gap();
    text.paragraph(bytes_text(leaks.without_site) + " more came from unknown call stacks.");
  }
  text.append_apart(caches_text(leaks));
  text.append_apart(suppressed_text(leaks, suppressions, page));
  add_next(text, report, leaks, page, choice);
  return text;
}

}  // namespace vramscope
