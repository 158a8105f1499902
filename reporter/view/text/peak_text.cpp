// Explains peaks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/peak_text.h"

#include <algorithm>
#include <vector>

#include "reporter/base/axes.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/listing/thread_text.h"
#include "reporter/view/listing/tree_text.h"
#include "reporter/view/text/idle_text.h"
#include "reporter/view/text/own_time.h"
#include "reporter/view/text/peak_use_text.h"
#include "reporter/view/text/totals_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

constexpr std::size_t kValuesShown = 3;  // of an axis

// Of the value as texts call it.
std::string value_text(const Report& report, Axis axis, const std::string& value,
                       const NameFrame& name, const Page& page) {
  return axis == Axis::thread ? text_of_thread(ThreadNames(report, name), value, page)
                              : printable(value, page);
}

// "owners   PyTorch 80 %, NCCL 20 %".
std::string axis_line(const Report& report, const KindFacts& kind, Axis axis,
                      const std::vector<AxisEntry>& values, const NameFrame& name,
                      const Page& page) {
  constexpr std::size_t kTitle = 9;  // columns
  std::string result = std::string(kAxisNames[static_cast<std::size_t>(axis)]) + "s";
  result.resize(kTitle, ' ');
  for (std::size_t i = 0; i < std::min(kValuesShown, values.size()); ++i) {
    if (i != 0) result += ", ";
    result += value_text(report, axis, values[i].value, name, page) + " " +
              percent_text(values[i].totals.peak_bytes, kind.peak_bytes);
  }
  if (values.size() > kValuesShown) {
    result += ", " + std::to_string(values.size() - kValuesShown) + " more";
  }
  return result;
}

// A line for each axis that tells values apart; one for those of which a single value had all:
// "all of it: owner Python, thread main 4711".
Document axis_lines(const Report& report, const PeakOfKind& peak, const NameFrame& name,
                    const Page& page) {
  std::string whole;
  Document lines;
  for (const Axis axis : {Axis::owner, Axis::thread, Axis::stream, Axis::range}) {
    const bool is_of_call = axis == Axis::owner || axis == Axis::thread;
    if (is_of_call && !tells_frees(report)) continue;  // a snapshot has no calls
    const std::vector<AxisEntry>& values = peak.values_of(axis);
    if (values.size() > 1) lines.paragraph(axis_line(report, peak.kind, axis, values, name, page));
    if (values.size() != 1 || values[0].value == "none") continue;
    const std::string value = value_text(report, axis, values[0].value, name, page);
    const std::string word(kAxisNames[static_cast<std::size_t>(axis)]);
    whole += (whole.empty() ? "all of it: " : ", ") +
             (value.starts_with(word + " ") ? "" : word + " ") + value;
  }
  Document text;
  text.paragraph(whole);
  text.append(lines);
  return text;
}

// What plain memory held at its peaks after rounding: " (768 MiB allocated, 1.00 GiB reserved, at
// least 248 MiB of it idle and released when needed)".
std::string rounded(const Report& report, const KindFacts& kind) {
  const auto* const statistics = statistics_of(report, kind);
  if (statistics == nullptr) return "";
  const DeviceReport* const device = find_device(report, kind.device);
  return " (" + allocated_words(*device) + reserved_words(reserved_memory(report, *device)) + ")";
}

std::string told_by(const SumOfKind& sum) {
  if (sum.is_traced) return "exact, from their traces";
  return sum.is_partly_traced ? "from their timelines and the available traces"
                              : "from their timelines";
}

// That peaks of different instants were added, and what was held at one. `rest`: where there is no
// room for the whole of it.
void add_added(Document& text, const Report& report, const AddedPeaks& added, ShownIn whole,
               ShownIn rest) {
  const bool is_choice = report.chosen && report.chosen->by_rows;
  if (!is_of_several(report) || is_choice) return;
  if (added.processes < 2) return text.paragraph("from one process");
  const std::string together = "the peak of all together was " + bounds_text(added.together.peak);
  std::string words = "sum of the peaks of " + count_text(added.processes) + " processes";
  if (added.devices > 1) words += " on " + counted(added.devices, "device");
  text.paragraph(
      words + ", each at its own time; " + together + " (" + told_by(added.together) + ")", whole);
  text.paragraph(together, rest);
}

std::string when_reached(const Report& report, const KindFacts& kind, const NameFrame& name,
                         const Page& page) {
  if (!tells_frees(report)) return "";  // a snapshot without history
  std::string result = "reached ";
  if (report.chosen && report.chosen->by_rows) result = "the peak without the filter was " + result;
  if (is_of_several(report)) result = "the highest peak of a single process was reached ";
  result += own_time_text(report, own_peak_ns(report, kind), kind.peak_ns);
  const std::string& thread = kind.peak_thread;
  if (!thread.empty())
    result += " by thread " + text_of_thread(ThreadNames(report, name), thread, page);
  if (!kind.peak_range.empty() && kind.peak_range != "none") {
    result += " in " + printable(kind.peak_range, page);
  }
  return result;
}

void add_who_made_it(Document& text, const Report& report, const KindFacts& kind,
                     const NameFrame& name, const Page& page, ShownIn shown) {
  if (kind.peak_site < 0 || !tells_frees(report)) return;
  const Site& site = report.sites[static_cast<std::size_t>(kind.peak_site)];
  if (page.stacks == Stacks::in_full) {
    const CallSite whole = call_site(report, site, name, kAllFrames);
    text.paragraph("with an allocation by", shown);
    return text.drawing(whole_stack_text(whole, page, 6), shown);
  }
  const CallSite where = call_site_in_text(report, site, name, kFramesShown);
  text.paragraph("with an allocation by " + printable(vramscope::text(where), page), shown);
}

RowsBlock live_then(const Report& report, const PeakOfKind& peak, const NameFrame& name,
                    const Page& page, const RowChoice& choice) {
  Columns<Share> columns = share_columns(report, name);
  if (peak.joint == nullptr) columns = picked(columns, {"REQUESTED", "SHARE", "COUNT"});
  keep(columns, "MEMORY");
  std::vector<Share> shares = peak.live;
  for (Share& share : shares) share.whole = peak.kind.peak_bytes;
  const std::string title =
      choice.live_title.empty() ? "LIVE AT THE PEAK" : std::string(choice.live_title);
  return rows_of_sites(report, name, columns, shares, &Share::site, title, page, choice.most,
                       rest_of(shares, &Share::bytes));
}

void add_shares(Document& text, const Report& report, const PeakOfKind& peak, const NameFrame& name,
                const Page& page, const RowChoice& choice) {
  if (page.stacks == Stacks::as_tree) {
    text.append(tree_text(report, name, peak.live, "REQUESTED", page, choice.most));
  } else if (!peak.live.empty()) {
    text.table(live_then(report, peak, name, page, choice));
  }
}

void add_joint(Document& text, const Report& report, const PeakOfKind& joint, const NameFrame& name,
               const Page& page, const RowChoice& choice) {
  const KindFacts& facts = joint.kind;
  text.sentence(gpu_name(report, facts.device) + ", all kinds of memory together: peak " +
                amount_text(facts.peak_bytes) + " requested, now " +
                amount_text(facts.current_bytes));
  text.paragraph(when_reached(report, facts, name, page));
  add_who_made_it(text, report, facts, name, page, {});
  const std::vector<AxisEntry>& owners = joint.values_of(Axis::owner);
  if (owners.size() > 1) text.paragraph(axis_line(report, facts, Axis::owner, owners, name, page));
  add_shares(text, report, joint, name, page, choice);
}

// is_first: of others a page without room has as much of what made the peak as it cannot do
// without.
void add_kind(Document& text, const Report& report, const PeakOfKind& peak, bool is_first,
              const NameFrame& name, const Page& page, const RowChoice& choice) {
  const KindFacts& kind = peak.kind;
  const bool is_choice = report.chosen && report.chosen->by_rows;
  const std::string bytes = amount_text(kind.peak_bytes);
  const std::string held =
      is_choice ? bytes + of_all_text(report, kind) + " requested " + peak_word(report) +
                      (tells_frees(report) ? " of all" : "")
                : peak_word(report) + " " + bytes + " requested" + rounded(report, kind);
  const ShownIn detail = is_first ? ShownIn() : kWhereAllIs;
  text.title(memory_name(report, kind.kind, kind.device) + ": " + held +
             (tells_frees(report) ? ", now " + amount_text(kind.current_bytes) : ""));
  if (is_first) {
    add_added(text, report, peak.added, {}, kNever);
  } else {
    add_added(text, report, peak.added, kWhereAllIs, kWhereBrief);
  }
  text.paragraph(when_reached(report, kind, name, page),
                 is_of_several(report) ? detail : ShownIn());
  add_who_made_it(text, report, kind, name, page, detail);
  const ShownIn tight{.least_rows = is_of_several(report) ? 2U : 0U};
  Document axes;
  axes.append(axis_lines(report, peak, name, page), tight);
  text.append(axes, detail);
  add_shares(text, report, peak, name, page, choice);
  if (const std::string note = sampling_text(report); !note.empty())
    text.line("  " + note + "; the rest is exact");
}

// A line for each GPU of which the report's process had several kinds of memory, whose peaks need
// not have come together.
void add_all_kinds(Document& text, const Report& report) {
  for (const JointBounds& joint : report.joint_bounds) {
    text.title(gpu_name(report, joint.device) + ", all kinds of memory together: peak " +
               bounds_text({joint.lower, joint.upper}) +
               " requested (only a trace shows what was live then). Each kind at its own peak:");
  }
}

}  // namespace

void add_live(Document& text, const Report& report, const PeakOfKind& peak, const NameFrame& name,
              const Page& page, const RowChoice& choice) {
  text.append(axis_lines(report, peak, name, page));
  add_shares(text, report, peak, name, page, choice);
}

Document peak_text(const Report& report, const PeakAnswer& answer, const NameFrame& name,
                   const Page& page, const RowChoice& choice) {
  if (answer.joint.empty() && answer.kinds.empty()) return nothing_text(report);
  Document text;
  if (report.joint_peaks.empty()) add_all_kinds(text, report);
  bool is_first = true;
  for (const PeakOfKind& joint : answer.joint) {
    if (!is_first) text.gap();
    add_joint(text, report, joint, name, page, choice);
    is_first = false;
  }
  for (const PeakOfKind& kind : answer.kinds) {
    if (!is_first) text.gap(is_of_several(report) ? kWhereAllIs : ShownIn());
    add_kind(text, report, kind, is_first, name, page, choice);
    is_first = false;
  }
  text.append(peak_uses_text(answer.uses, page));
  if (report.chosen && report.chosen->by_rows && tells_frees(report)) {
    text.gap();
    text.paragraph(
        "This is what the rows that pass held when all of the memory was at its peak. "
        "At another time they may have held more: " +
        std::string(report.trace.path.empty() ? "a trace tells (run --trace FILE)."
                                              : "peak of its trace tells."));
  }
  text.append(totals_text(report, answer.leaked), kUnlessRepeated);
  return text;
}

}  // namespace vramscope
