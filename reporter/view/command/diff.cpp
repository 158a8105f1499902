// vramscope diff: what changed between two reports.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "interpose/settings/options.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/diff/same_gpus.h"
#include "reporter/view/analysis/driver_calls.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/diff_history.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/merged_input.h"
#include "reporter/view/command/newer.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/text/call_changes_text.h"
#include "reporter/view/text/diff_text.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/report_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 20;
constexpr std::string_view kByCall = "call";  // of the driver: no memory is compared

struct Arguments {
  std::vector<std::string> sides;  // BEFORE and AFTER, as typed
  std::string before;
  std::string after;
  std::string history;  // folder; "": two reports are compared
  std::string by = "site";
  std::string at = "peak";
  std::string threshold;  // "": none
  StackChoice stacks;
  Listing listing{.json = false, .most = kRows, .output = ""};
  Filter filter;
  Reading reading;
};

template <class Names>
std::size_t index_of(const Names& names, const std::string& word) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin());
}

std::string diff_axes() { return listed(kDiffByNames) + ", " + std::string(kByCall); }

std::string no_diff_axis(const std::string& word) {
  const bool is_one = word == kByCall || index_of(kDiffByNames, word) < kDiffByNames.size();
  return is_one ? "" : "'" + word + "' is none of " + diff_axes();
}

template <class Names>
WhyNot one_of(const Names& names) {
  return [&names](const std::string& word) {
    return index_of(names, word) < names.size() ? "" : "'" + word + "' is none of " + listed(names);
  };
}

std::string no_threshold(const std::string& word) {
  Bytes bytes;
  Percent percent;
  const bool is_percent = word.ends_with('%') && read(word, percent);
  return is_percent || read(word, bytes)
             ? ""
             : "'" + word +
                   "' is neither a number of bytes such as 10MiB nor a percentage such as 2%" +
                   unit_meant(word);
}

// Of what was held before, where it is a percentage.
std::optional<std::uint64_t> limit_of(const std::string& threshold, std::uint64_t before) {
  Percent percent;
  Bytes bytes;
  if (threshold.empty()) return std::nullopt;
  if (!threshold.ends_with('%')) return read(threshold, bytes) ? bytes.value : 0;
  (void)read(threshold, percent);
  return before / 100 * percent.value + before % 100 * percent.value / 100;
}

int publish_diff(const Listing& listing, const Differences& found, const DiffOf& of,
                 const Filter& filter, Stacks stacks) {
  if (listing.csv) {
    return publish_csv(
        listing, [&](CsvText& csv) { add_rows(csv, found.rows, diff_columns(), listing.most); });
  }
  Page page = page_of(listing);
  page.filters = typed_options(filter);
  page.stacks = stacks;
  if (listing.json) return publish(listing, diff_json(found, of));
  Document text = filter_head(filter);
  text.append(diff_text(found, of, page));
  return publish(listing, render(text, page));
}

// "was killed by SIGKILL", "was written when memory ran out; the program continued", "adds 3
// processes, each at its own peak": of a report that is not of all of its run, or of several.
std::string what_it_covers(const Report& report, const std::string& at) {
  if (!tells_frees(report)) {
    return "has no history: it tells what was live at the snapshot, not the peak";
  }
  if (is_of_several(report)) {
    const std::string words = "adds " + count_text(report.processes.size()) + " processes" +
                              (at == "peak" ? ", each at its own peak" : "");
    const auto went_on = std::count_if(report.processes.begin(), report.processes.end(),
                                       [](const auto& one) { return end_of(one) == End::went_on; });
    return words + (went_on == 0 ? ""
                                 : "; " + count_text(went_on) +
                                       (went_on == 1 ? " went on after its report"
                                                     : " went on after their reports"));
  }
  if (is_merged(report) || trigger_of(report) == Trigger::merged) return "";
  MergedProcess process;
  process.process = report.process;
  process.trigger = report.trigger;
  switch (end_of(process)) {
    case End::died:
      return death_text(process);
    case End::went_on:
      return "was " + trigger_text(process.trigger) + "; the program continued";
    default:
      return "";
  }
}

// Of a filter and of what says which bytes are compared there is no call.
int show_diff_of_calls(const Arguments& given, Report& before, Report& after) {
  Filter others = given.filter;
  others.function.clear();
  if (!others.is_empty() || !given.threshold.empty() || given.at != "peak") {
    return refuse(
        "diff --by call compares driver calls of two runs, and no memory: it takes --function, but "
        "no other filter, --at or --threshold");
  }
  if (!given.filter.function.empty()) {
    const FilterUse use{.subject = Subject::calls};
    Filtering filtering(given.filter, use);
    if (!filtering.applies_to_both({before, given.before}, {after, given.after})) return kBadInput;
  }
  CallsOfTwo two{.before_file = given.before,
                 .after_file = given.after,
                 .before = driver_calls(before),
                 .after = driver_calls(after)};
  two.rows = call_changes(two.before, two.after);
  const Listing& listing = given.listing;
  listing.rows().refuse_unless({names_of(call_change_columns())});
  arrange(two.rows, call_change_columns(), listing.rows());
  if (listing.csv) {
    return publish_csv(listing, [&](CsvText& csv) {
      add_rows(csv, two.rows, call_change_columns(), listing.most);
    });
  }
  if (listing.json) return publish(listing, json_of(two, call_changes_fields(listing.most)));
  const Page page = page_of(listing);
  Document text = filter_head(given.filter);
  text.append(call_changes_text(two, page, listing.most));
  return publish(listing, render(text, page));
}

// Why the arguments cannot be answered, before a file is read; "": they can.
std::string why_refused(const Arguments& given) {
  for (const std::string& file : {given.before, given.after}) {
    if (!is_trace(file)) continue;
    return "'" + file +
           "' is a trace: diff compares the reports of two runs, which run writes beside traces";
  }
  if (!given.threshold.empty() && !given.filter.min_bytes.empty()) {
    return "diff: --min-bytes hides rows, but --threshold also judges the sums of all rows; drop "
           "one of the two";
  }
  return "";
}

// Leaves what passes the filter in both reports. Returns false if one cannot answer it.
bool filter_both(const Arguments& given, Report& before, Report& after) {
  const FilterUse use{.measure = given.at == "peak"  ? Measure::peak
                                 : given.at == "end" ? Measure::live
                                                     : Measure::total};
  // What one report has less of, the other may have more of.
  Filter filter = given.filter;
  filter.min_bytes.clear();
  Filtering filtering(filter, use);
  if (!filtering.applies_to_both({before, given.before}, {after, given.after})) return false;
  for (Report* report : {&before, &after}) {
    if (given.filter.kind.empty()) leave_out_views(*report);
    choose_frames(*report, given.stacks);
  }
  return true;
}

// What stands around the rows: how full the devices were, and what the driver's calls took.
void add_uses(const Arguments& given, const Report& before, const Report& after,
              const NameFrame& name, DiffOf& of) {
  if (of.at == DiffAt::peak && given.filter.least_bytes() == 0) {
    of.uses = use_changes(before, after);
    of.memory_at_end = differences(before, after, DiffBy::kind, DiffAt::end, name).memory;
    of.use_before = peak_uses(before, name);
    of.use_after = peak_uses(after, name);
  }
  if (given.filter.is_empty()) {
    of.before_calls = driver_calls(before);
    of.after_calls = driver_calls(after);
  }
}

int show_differences(const Arguments& given, Report& before, Report& after) {
  number_gpus_as_in(after, before);  // --device is a number of AFTER
  if (!filter_both(given, before, after)) return kBadInput;
  DiffOf of{.before = given.before,
            .after = given.after,
            .before_end = what_it_covers(before, given.at),
            .after_end = what_it_covers(after, given.at),
            .by = static_cast<DiffBy>(index_of(kDiffByNames, given.by)),
            .at = static_cast<DiffAt>(index_of(kDiffAtNames, given.at)),
            .most = given.listing.most};
  describe_sides(of, before, after);
  given.listing.rows().refuse_unless({names_of(diff_columns())});
  const NameFrame name = names_from_symbols(given.stacks.shown);
  Differences found = differences(before, after, of.by, of.at, name, given.filter.least_bytes());
  add_uses(given, before, after, name, of);
  of.limit = limit_of(given.threshold, found.before_bytes);
  arrange(found.rows, diff_columns(), given.listing.rows());
  const int status = publish_diff(given.listing, found, of, given.filter, given.stacks.shown);
  if (status != kFine) return status;
  return of.limit && crosses(found, *of.limit) ? kThreshold : kFine;
}

int show_diff(Arguments& given) {
  if (!given.history.empty()) {
    if (!given.sides.empty()) {
      return refuse("diff --history lists the runs of one folder: it takes no BEFORE and AFTER");
    }
    settle_rows(given.listing);
    return show_history(given.history, given.listing, given.reading);
  }
  constexpr std::size_t kSides = 2;
  if (given.sides.size() != kSides) {
    return refuse(std::string("diff: ") +
                  (given.sides.empty()       ? "BEFORE and AFTER are"
                   : given.sides.size() == 1 ? "AFTER is"
                                             : "two reports, BEFORE and AFTER, are") +
                  (given.sides.size() > kSides ? " compared" : " missing") +
                  "; see vramscope diff --help");
  }
  given.before = given.sides[0];
  given.after = given.sides[1];
  if (const std::string why = why_refused(given); !why.empty()) return refuse(why);
  tell_newer({given.before, given.after}, {given.before, given.after}, say);
  std::optional<Report> before = open_named(given.before, given.reading);
  std::optional<Report> after = open_named(given.after, given.reading);
  if (!before || !after) return kBadInput;
  settle_rows(given.listing);
  if (given.by == kByCall) return show_diff_of_calls(given, *before, *after);
  if (!given.filter.function.empty()) {
    return refuse(
        "--function selects functions of the driver: use it with --by call; --site selects call "
        "stacks by the program's functions");
  }
  return show_differences(given, *before, *after);
}

}  // namespace

Verb add_diff(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("diff", "Show what changed between two reports");
  command.usage("vramscope diff [OPTIONS] BEFORE AFTER");
  command.words("FILE", arguments->sides,
                "BEFORE and AFTER: reports of the earlier and of the later run, or folders or "
                "patterns");
  command.option("--history", &arguments->history, "List the runs in this folder, one a line",
                 {.value_name = "FOLDER"});
  command.option("--by", &arguments->by, "Compare by " + diff_axes(),
                 {.value_name = "WHAT",
                  .why_not = no_diff_axis,
                  .shows_default = true,
                  .choices = choices_in(diff_axes())});
  command.option("--at", &arguments->at,
                 "Compare bytes at the peak, the end, or in total: " + listed(kDiffAtNames),
                 {.value_name = "WHEN",
                  .why_not = one_of(kDiffAtNames),
                  .shows_default = true,
                  .choices = choices_in(listed(kDiffAtNames))});
  command.option("--threshold", &arguments->threshold,
                 "Exit with status 1 above this growth: 10MiB, or 2%",
                 {.value_name = "BYTES|%", .why_not = no_threshold});
  add_listing_options(command, arguments->listing);
  add_filters(command, arguments->filter, {});
  add_function_filter(command, arguments->filter, "; with --by call");
  add_view_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  add_full_option(command, arguments->stacks);
  command.footer(
      "diff matches call sites by functions, files and lines, or by functions alone if a file was "
      "renamed. You can therefore compare two builds. --by function compares functions of the "
      "program, and --by call compares functions of the driver.\n"
      "--threshold applies to the memory of each GPU, to the host's, and to each row. A percentage "
      "refers to all memory of BEFORE.\n"
      "Examples:\n"
      "  vramscope diff before.json after.json\n"
      "  vramscope diff --at end --by owner --threshold 2% before.json after.json\n"
      "  vramscope diff --by call before.json after.json      time in driver calls\n"
      "  vramscope diff --history nightly      peak, leaks and allocations of each run");
  return {.command = &command, .act = [arguments] { return show_diff(*arguments); }};
}

}  // namespace vramscope
