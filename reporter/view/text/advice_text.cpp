// Lists findings.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/advice_text.h"

#include <algorithm>
#include <memory>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/site_columns.h"

namespace vramscope {
namespace {

bool has_ranges(const Report& report) {
  return std::any_of(report.axes.begin(), report.axes.end(), [](const AxisEntry& row) {
    return row.axis == Axis::range && row.value != "none" && row.value != "unknown";
  });
}

// What a file cannot show is not called looked for.
std::string looked_for(const AdviceOf& of) {
  std::vector<std::string> all{"memory that only grows", "pools side by side", "rounding",
                               "repeated pinning", "temporary allocations"};
  if (of.has_segments) {
    all.emplace_back("fragmentation");
    all.emplace_back("small segments");
  }
  if (of.is_trace && has_ranges(of.report)) {
    all.emplace_back("memory of NVTX ranges that is freed late");
    all.emplace_back("ranges that overlap");
  }
  return enumerated(all);
}

void add_sites(Document& text, const Report& report, const Advice& advice, const NameFrame& name,
               const Page& page) {
  if (advice.sites.empty()) return;
  const Columns<AdviceSite> columns = picked(advice_site_columns(report, name), {"BYTES", "COUNT"});
  add_listing(text,
              site_listing(report, name, columns, advice.sites, &AdviceSite::site, "WHERE", page),
              page);
}

void add_finding(Document& text, const AdviceOf& of, std::size_t number, const NameFrame& name,
                 const Page& page) {
  const Advice& advice = of.found[number];
  const AdviceWords words = words_of(of.report, advice, name);
  text.gap();
  text.title(std::to_string(number + 1) + ". " + finding_title(of.report, advice, words));
  text.paragraph(capitalised(words.shown) + ".");
  add_sites(text, of.report, advice, name, page);
  text.paragraph("What to do: " + words.to_do + ".");
  text.line("  See: vramscope " + words.command + " " + shell_path(of.file, page));
}

}  // namespace

std::string finding_title(const Report& report, const Advice& advice, const AdviceWords& words) {
  const bool is_anywhere = advice.saves_bytes == 0 || advice.what == FindingKind::fragmented;
  return words.title + ": " + words.saves +
         (is_anywhere ? "" : ", " + memory_name(report, advice.kind, advice.device));
}

Columns<AdviceSite> advice_site_columns(const Report& report, const NameFrame& name) {
  return with_site<AdviceSite>(
      report, name, &AdviceSite::site,
      {{"bytes",
        "requested bytes: live at the instant that the finding is about; ever allocated, if it is "
        "about time; lost to rounding or, of blocks with their rounding, in segments that are "
        "mostly free",
        &AdviceSite::bytes, Titled("BYTES")},
       {"count", "number of allocations or blocks", &AdviceSite::count, Titled("COUNT", 2)}});
}

Columns<Advice> advice_columns(const Report& report, const NameFrame& name) {
  using Row = Advice;
  const auto if_any = [](std::uint64_t Advice::*member) {
    return [member](const Row& row) {
      return row.*member == 0 ? std::nullopt : std::optional(row.*member);
    };
  };
  const auto word = [&report, name](std::string AdviceWords::*member) {
    return [&report, name, member](const Row& row) { return words_of(report, row, name).*member; };
  };
  const Columns<AdviceParty> party{
      {"name", "range, or pool of a library", &AdviceParty::name},
      {"bytes", "requested bytes that it holds at the peak", &AdviceParty::bytes}};
  return {
      {"finding", "what was found", &Advice::what, OneOf(kFindingKindNames)},
      {"saves_bytes", "bytes that are saved without it; `null`: it takes time, not memory",
       if_any(&Advice::saves_bytes)},
      {"saves_ns", "time that is saved without it, summed over threads; `null`: it takes memory",
       if_any(&Advice::saves_ns)},
      {"certainty", "how sure the saving is", &Advice::sure, OneOf(kCertaintyNames)},
      kind_column<Row>(&Advice::kind),
      device_column<Row>(&Advice::device),
      {"whole_bytes",
       "peak, or bytes of all segments, of which the saving is a part; `null`: does not apply",
       if_any(&Advice::whole_bytes)},
      {"count", "number of allocations, blocks or segments that it is about", &Advice::count},
      {"of_count", "number of all of these; `null`: does not apply", if_any(&Advice::of_count)},
      {"peak_ns", "time of the peak, after time 0; `null`: does not apply",
       if_any(&Advice::peak_ns)},
      {"last_ns", "time of the last allocation in the range; `null`: does not apply",
       if_any(&Advice::last_ns)},
      {"lived_ns",
       "a power of ten; as many allocations as `count` says lived less long; `null`: does not "
       "apply",
       if_any(&Advice::lived_ns)},
      {"title", "the finding in words", word(&AdviceWords::title)},
      {"evidence", "figures that show it, in words", word(&AdviceWords::shown)},
      {"advice", "what to do, in words", word(&AdviceWords::to_do)},
      {"command", "command that shows more, without the file", word(&AdviceWords::command)},
      {"parties", "ranges or pools that it is about, the largest first", party, &Advice::parties},
      {"sites", "call sites that it is about, the largest first", advice_site_columns(report, name),
       &Advice::sites}};
}

std::string findings_text(const AdviceOf& of) {
  if (!of.found.empty()) {
    return counted(of.found.size(), "finding") + ", the largest saving first";
  }
  return "Nothing found. Looked for: " + looked_for(of) + ".";
}

std::string not_looked_for(const AdviceOf& of) {
  if (!of.is_trace) {
    return "Only a trace (run --trace FILE) shows fragmentation at the peak, memory of NVTX ranges "
           "that is freed late, and ranges that overlap.";
  }
  std::string text =
      of.has_segments ? "" : "The trace has no segments, so fragmentation is unknown.";
  if (has_ranges(of.report)) return text;
  return text + (text.empty() ? "" : " ") +
         "The program has no NVTX ranges. They show memory that is freed late, and phases that "
         "overlap.";
}

Document advice_text(const AdviceOf& of, const NameFrame& name, const Page& page,
                     const RowChoice& choice) {
  Document text;
  const std::size_t shown = rows_shown(of.found.size(), choice.most);
  text.sentence(findings_text(of));
  for (std::size_t i = 0; i < shown; ++i) add_finding(text, of, i, name, page);
  if (shown < of.found.size()) {
    text.gap();
    text.paragraph("and " + counted(of.found.size() - shown, "more finding") + " (-n 0 for all)");
  }
  const std::string rest = not_looked_for(of);
  if (!rest.empty()) {
    text.gap();
    text.sentence(rest);
  }
  return text;
}

}  // namespace vramscope
