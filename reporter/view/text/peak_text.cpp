// Explains peaks.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/peak_text.h"

#include <algorithm>
#include <vector>

#include "reporter/ground/axes.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/digest.h"
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
  return paragraph(result, page);
}

// A line for each axis that tells values apart; one for those of which a single value had all:
// "all      owner Python, thread main 4711".
std::string axis_lines(const Report& report, const PeakOfKind& peak, const NameFrame& name,
                       const Page& page) {
  const KindFacts& kind = peak.kind;
  std::string whole;
  std::string lines;
  for (const Axis axis : {Axis::owner, Axis::thread, Axis::stream, Axis::range}) {
    const bool is_of_call = axis == Axis::owner || axis == Axis::thread;
    if (is_of_call && !tells_frees(report)) continue;  // a snapshot has no calls
    const std::vector<AxisEntry>& values = peak.values_of(axis);
    if (values.size() > 1) lines += axis_line(report, kind, axis, values, name, page);
    if (values.size() != 1 || values[0].value == "none") continue;
    const std::string value = value_text(report, axis, values[0].value, name, page);
    const std::string word(kAxisNames[static_cast<std::size_t>(axis)]);
    whole += (whole.empty() ? "all      " : ", ") +
             (value.starts_with(word + " ") ? "" : word + " ") + value;
  }
  return (whole.empty() ? "" : paragraph(whole, page)) + lines;
}

// What plain memory held at its peaks after rounding: " (768 MiB allocated, 1.00 GiB reserved, at
// least 248 MiB of it idle and given back when needed)".
std::string rounded(const Report& report, const KindFacts& kind) {
  const auto* const statistics = statistics_of(report, kind);
  if (statistics == nullptr) return "";
  const DeviceReport* const device = find_device(report, kind.device);
  return " (" + allocated_words(*device) + reserved_words(reserved_memory(report, *device)) + ")";
}

std::string told_by(const SumOfKind& sum) {
  if (sum.is_traced) return "exactly, from their traces";
  return sum.is_partly_traced ? "as their timelines and the traces that are there tell"
                              : "as their timelines tell";
}

// That peaks of different instants were added, and what was held at one.
std::string added_text(const Report& report, const AddedPeaks& added, bool is_least,
                       const Page& page) {
  const bool is_choice = report.chosen && report.chosen->by_rows;
  if (!is_of_several(report) || is_choice) return "";
  if (added.processes < 2) return paragraph("of one process alone", page);
  if (is_least) {
    return paragraph("at one time " + bounds_text(added.together.peak) + " together", page);
  }
  std::string text = "the peaks of " + count_text(added.processes) + " processes";
  if (added.devices > 1) text += " on " + counted(added.devices, "device");
  return paragraph(text + ", each at its own time, added; at one time they held " +
                       bounds_text(added.together.peak) + " together, " + told_by(added.together),
                   page);
}

std::string who_made_it(const Report& report, const KindFacts& kind, const NameFrame& name,
                        const Page& page, bool is_least) {
  if (!tells_frees(report)) return "";  // a snapshot without history
  std::string result = "reached after ";
  if (report.chosen && report.chosen->by_rows) result = "the peak of all was " + result;
  if (is_of_several(report)) result = "the highest of them was reached after ";
  result += own_time_text(report, own_peak_ns(report, kind), kind.peak_ns);
  const std::string& thread = kind.peak_thread;
  if (!thread.empty())
    result += " by thread " + text_of_thread(ThreadNames(report, name), thread, page);
  if (!kind.peak_range.empty() && kind.peak_range != "none") {
    result += " in " + printable(kind.peak_range, page);
  }
  result = paragraph(result, page);
  if (kind.peak_site < 0 || is_least) return result;
  const Site& site = report.sites[static_cast<std::size_t>(kind.peak_site)];
  if (page.stacks == Stacks::in_full) {
    const CallSite whole = call_site(report, site, name, kAllFrames);
    return result + "  by the allocation of\n" + whole_stack_text(whole, page, 6);
  }
  const CallSite where = call_site_in_text(report, site, name, kFramesShown);
  return result + paragraph("by the allocation of " + printable(text(where), page), page);
}

std::string live_then(const Report& report, const PeakOfKind& peak, const NameFrame& name,
                      const Page& page, const RowChoice& choice) {
  const std::vector<Share>& shares = peak.live;
  if (shares.empty()) return "";
  Columns<Share> columns = share_columns(report, name);
  if (peak.joint == nullptr) columns = picked(columns, {"REQUESTED", "SHARE", "COUNT"});
  keep(columns, "MEMORY");
  const std::size_t shown = rows_shown(shares.size(), choice.most);
  std::vector<Share> rows(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shown));
  for (Share& share : rows) share.whole = peak.kind.peak_bytes;
  const SiteListing table =
      site_listing(report, name, columns, rows, &Share::site,
                   choice.live_title.empty() ? "LIVE THEN" : std::string(choice.live_title), page);
  std::uint64_t rest = 0;
  for (std::size_t i = shown; i < shares.size(); ++i) rest += shares[i].bytes;
  return table.text(page) + (shown == shares.size()
                                 ? ""
                                 : "  and " + counted(shares.size() - shown, "more row") + ", " +
                                       bytes_text(rest) + "\n");
}

std::string shares_text(const Report& report, const PeakOfKind& peak, const NameFrame& name,
                        const Page& page, const RowChoice& choice) {
  return page.stacks == Stacks::as_tree
             ? tree_text(report, name, peak.live, "REQUESTED", page, choice.most)
             : live_then(report, peak, name, page, choice);
}

std::string owners_line(const Report& report, const PeakOfKind& joint, const NameFrame& name,
                        const Page& page) {
  const std::vector<AxisEntry>& owners = joint.values_of(Axis::owner);
  if (owners.size() < 2) return "";
  return axis_line(report, joint.kind, Axis::owner, owners, name, page);
}

std::string joint_text(const Report& report, const PeakOfKind& joint, const NameFrame& name,
                       const Page& page, const RowChoice& choice) {
  const KindFacts& facts = joint.kind;
  return sentence(gpu_name(report, facts.device) + ", all kinds of memory together: peak " +
                      amount_text(facts.peak_bytes) + " requested, now " +
                      amount_text(facts.current_bytes),
                  page) +
         who_made_it(report, facts, name, page, false) + owners_line(report, joint, name, page) +
         shares_text(report, joint, name, page, choice);
}

// is_least: of what made the peak as much as the page cannot do without.
std::string kind_text_of(const Report& report, const PeakOfKind& peak, bool is_least,
                         const NameFrame& name, const Page& page, const RowChoice& choice) {
  const KindFacts& kind = peak.kind;
  const bool is_choice = report.chosen && report.chosen->by_rows;
  const std::string bytes = amount_text(kind.peak_bytes);
  const std::string held =
      is_choice ? bytes + of_all_text(report, kind) + " requested " + peak_word(report) +
                      (tells_frees(report) ? " of all" : "")
                : peak_word(report) + " " + bytes + " requested" + rounded(report, kind);
  const std::string title = memory_name(report, kind.kind, kind.device) + ": " + held +
                            (tells_frees(report) ? ", now " + amount_text(kind.current_bytes) : "");
  std::string result = sentence(title, Colour::bold, page);
  result += added_text(report, peak.added, is_least, page);
  if (!is_least || !is_of_several(report))
    result += who_made_it(report, kind, name, page, is_least);
  const bool is_tight = page.is_brief && is_of_several(report) && choice.most == 1;
  if (!is_least && !is_tight) result += axis_lines(report, peak, name, page);
  result += shares_text(report, peak, name, page, choice);
  if (const std::string note = sampling_text(report); !note.empty()) {
    result += "  " + note + "; the rest is exact\n";
  }
  return result;
}

// A line for each GPU of which the report's process had several kinds of memory, whose peaks need
// not have come together; "" where it had none such, and of what a trace tells.
std::string all_kinds_text(const Report& report, const Page& page) {
  std::string text;
  for (const JointBounds& joint : report.joint_bounds) {
    text += sentence(gpu_name(report, joint.device) + ", all kinds of memory together: peak " +
                         bounds_text({joint.lower, joint.upper}) +
                         " requested (what was live then, a trace tells); each at its own peak:",
                     Colour::bold, page);
  }
  return text;
}

}  // namespace

std::string peak_text(const Report& report, const PeakAnswer& answer, const NameFrame& name,
                      const Page& page, const RowChoice& choice) {
  std::string result;
  for (const PeakOfKind& joint : answer.joint) {
    if (!result.empty()) result += "\n";
    result += joint_text(report, joint, name, page, choice);
  }
  for (const PeakOfKind& kind : answer.kinds) {
    const bool is_least = page.is_brief && !result.empty();
    if (!result.empty() && !(is_least && is_of_several(report))) result += "\n";
    result += kind_text_of(report, kind, is_least, name, page, choice);
  }
  if (result.empty()) return nothing_text(report);
  if (report.joint_peaks.empty()) result.insert(0, all_kinds_text(report, page));
  result += peak_uses_text(answer.uses, page);
  if (report.chosen && report.chosen->by_rows && tells_frees(report)) {
    result +=
        "\n" + paragraph(
                   "This is what the rows that pass held when all of the memory was at its peak. "
                   "At another time they may have held more: " +
                       std::string(report.trace.path.empty() ? "a trace tells (run --trace FILE)."
                                                             : "peak of its trace tells."),
                   page);
  }
  return result + totals_text(report, page, answer.leaked);
}

}  // namespace vramscope
