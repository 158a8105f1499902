// vramscope report: what a report says, on one screen.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/newer.h"
#include "reporter/view/command/progress.h"
#include "reporter/view/command/trace.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/fit.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/left_overs_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/reports_text.h"
#include "reporter/view/text/runs_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kProcesses = 20;  // rows, unless told otherwise
const FilterUse kRowsUse{.row_is_of_memory = true};
const FilterUse kOrItsTrace{.inputs = Inputs::both};

struct Arguments {
  std::vector<std::string> files;
  bool each = false;
  StackChoice stacks;
  Listing listing{.json = false, .most = kReportSites, .output = ""};
  Filter filter;
  Reading reading;
};

// Of a filter those that had such memory, or all if none had.
std::vector<ReportOfProcess> concerned(std::vector<ReportOfProcess> all, const Filter& filter) {
  if (filter.is_empty()) return all;
  const auto lacks = [](const ReportOfProcess& one) { return one.process.kinds.empty(); };
  if (!std::all_of(all.begin(), all.end(), lacks)) std::erase_if(all, lacks);
  return all;
}

// Those that were merged into the report, as the table of their own reports would have them.
Runs processes_of(const Report& report, const std::string& path, const Filter& filter,
                  const RunsNaming& naming = {}) {
  std::vector<ReportOfProcess> all;
  for (const MergedProcess& process : report.processes) {
    all.push_back({.file = path, .process = process, .is_merged = true});
  }
  return runs_of(concerned(std::move(all), filter), {}, naming);
}

void choose_rows(Report& report, const Arguments& arguments) {
  if (arguments.filter.kind.empty()) leave_out_views(report);
  choose_frames(report, arguments.stacks);
  leave_out_small_rows(report, arguments.filter, kRowsUse);
}

// On a line that is gone once all traces were followed.
TellShare tell_progress() {
  const auto line = std::make_shared<std::optional<ProgressLine>>();
  return [line](const TrialShare& share) {
    if (!*line) line->emplace("traces", "events");
    (*line)->show(share);
    if (share.steps >= share.of) line->reset();
  };
}

// Reads a report once more, as it was read for the table. Of few, which several figures ask for.
RunsNaming naming_of(const Arguments& arguments, Filtering& filtering) {
  const auto known = std::make_shared<std::map<std::string, std::optional<Report>>>();
  const auto read_again = [&, known](const std::string& file) {
    const auto [found, is_new] = known->try_emplace(file);
    if (!is_new) return found->second;
    std::string path = file;
    std::optional<Report> report = open_report(path, arguments.reading);
    if (report && filtering.apply(*report, path) != Filtering::Result::done) report.reset();
    if (report) choose_rows(*report, arguments);
    return found->second = std::move(report);
  };
  return {.read_again = read_again,
          .name = names_from_symbols(arguments.stacks.shown),
          .tell = tell_progress()};
}

// Said below what a person reads; "": nothing.
std::string hint_below(const Listing& listing, const LeftOvers& left) {
  const bool is_for_person = listing.output.empty() && !listing.json && !listing.csv &&
                             isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
  return is_for_person && are_news(left) ? left_overs_hint(left) : "";
}

// A report that stands alone fits the terminal, with that and the shell's prompt below. usual: rows
// that it shows else.
std::string on_screen(const Document& document, const Listing& listing, const Page& page,
                      std::size_t usual) {
  constexpr std::size_t kName = 11;  // "vramscope: "
  const std::size_t hint = hint_below(listing, left_overs()).size();
  const std::size_t reserved = 1 + (hint == 0 ? 0 : 1 + (kName + hint) / page.width);
  return fitted(document, page, reserved, usual);
}

// How many processes a screen has room for, by the rows that its text is to have at most: rows of
// the table go before the figures below it, but not all of them.
std::size_t brief_processes(std::size_t most, bool has_figures) {
  constexpr std::size_t kRowsForOne = 4;
  return std::min(has_figures ? 2 * most : kRowsForOne * most, kProcesses);
}

// The processes of a merged report first, which are what it is asked for; what all of them come to
// follows as far as there is room. The figures repeat the processes, and go before the places do.
Document merged_text(const ShownReport& shown, const Runs& runs, const NameFrame& name,
                     const Page& page, const Listing& listing) {
  const bool has_all = listing.typed_most && listing.most == 0;
  const std::size_t typed = listing.typed_most ? listing.most : 0;
  const std::size_t rows = has_all ? 0 : std::max(typed, kProcesses);
  const auto has_figures = [](const ScreenRoom& room) {
    return room.brevity == Brevity::no_details;
  };
  const auto processes = [=, usual = listing.most](const ScreenRoom& room) {
    if (room.brevity == Brevity::none) return rows;
    return brief_processes(room.most(usual), has_figures(room));
  };
  const auto places = [usual = listing.most](const ScreenRoom& room) {
    constexpr std::size_t kPlaces = 3;  // that stay longest
    const std::size_t most = room.most(usual);
    return most >= 2 * kPlaces ? most / 2 : std::min(most, kPlaces);
  };
  Document text = runs_text(runs, page, processes, has_figures);
  text.gap(kWhereAllIs);
  text.append(report_text(shown, name, page, listing.rows()), kWhereAllIs);
  text.append(report_in_brief(shown, name, page, places), kWhereBrief);
  return text;
}

int show_trace_of(const Arguments& arguments, const std::string& trace) {
  TraceArguments its;
  its.file = trace;
  its.stacks = arguments.stacks;
  its.listing = arguments.listing;
  its.filter = arguments.filter;
  its.reading = arguments.reading;
  return show_trace(its);
}

// Each report by itself: as text on a screen of its own, as an element of an array, or as rows.
class EachReport {
 public:
  EachReport(const Arguments& arguments, std::size_t files)
      : arguments_(arguments),
        are_several_(files > 1),
        page_(page_of(arguments.listing)),
        name_(names_from_symbols(arguments.stacks.shown)) {
    page_.stacks = arguments.stacks.shown;
    page_.filters = typed_options(arguments.filter);
    if (are_several_) json_.array();
  }

  void add(Report& report, const std::string& path, Filtering& filtering) {
    choose_rows(report, arguments_);
    const Listing& listing = arguments_.listing;
    if (listing.json) {
      add_json(report, path, filtering);
    } else if (listing.csv) {
      csv_.lead(leading_cells(report, path));
      add_report_csv(csv_, report, name_, listing.rows());
    } else {
      add_text(report, path, filtering);
    }
  }
  [[nodiscard]] int end() {
    if (are_several_) json_.end();
    return publish(arguments_.listing, arguments_.listing.json ? json_.text() : text_);
  }

 private:
  void add_json(const Report& report, const std::string& path, Filtering& filtering) {
    if (are_several_) add_fields(json_.object(), report, which_report(path));
    if (are_several_) json_.key("listing");
    const auto add_processes = [&](JsonText& to) {
      Runs runs = processes_of(report, path, arguments_.filter);
      add_runs_json(to, std::move(runs.reports), runs.left_aside, naming_of(arguments_, filtering),
                    {});
    };
    report_json(json_, report, path, name_, arguments_.listing.rows(),
                is_merged(report) ? add_processes : std::function<void(JsonText&)>());
    if (are_several_) json_.end();
  }
  void add_text(Report& report, const std::string& path, Filtering& filtering) {
    Document one;  // its tables are of the report
    if (text_.empty()) one.append(filter_head(arguments_.filter));
    if (!text_.empty()) one.gap();
    const bool has_rows = report.chosen && report.chosen->by_rows;  // of all processes together
    add_joint_bounds(report);
    const bool has_processes = is_merged(report) && !has_rows;
    const Runs runs = has_processes ? processes_of(report, path, arguments_.filter,
                                                   naming_of(arguments_, filtering))
                                    : Runs();
    const ShownReport shown{report, path, leaked_of(report, name_)};
    const Listing& listing = arguments_.listing;
    one.append(has_processes ? merged_text(shown, runs, name_, page_, listing)
                             : report_text(shown, name_, page_, listing.rows()));
    text_ += are_several_ ? render(one, page_) : on_screen(one, listing, page_, listing.most);
  }

  const Arguments& arguments_;
  const bool are_several_;
  Page page_;
  const NameFrame name_;
  JsonText json_;
  std::string text_;
  CsvText csv_{text_};
};

int show_each(Arguments& arguments, const std::vector<std::string>& paths) {
  EachReport each(arguments, paths.size());
  const bool is_text = !arguments.listing.json && !arguments.listing.csv;
  const bool may_be_trace = is_text && paths.size() == 1;  // whose JSON and CSV have other members
  int status = kFine;
  bool any = false;
  Filtering filtering(arguments.filter, kRowsUse);
  for (std::string path : paths) {
    std::optional<Report> report = open_report(path, arguments.reading);
    if (!report) {
      status = kBadInput;
      continue;
    }
    if (may_be_trace && takes_its_trace(arguments.filter, kOrItsTrace, *report, path)) {
      return show_trace_of(arguments, path);
    }
    const Filtering::Result result = filtering.apply(*report, path);
    if (result == Filtering::Result::refused) return kBadInput;
    if (result == Filtering::Result::lacks) continue;
    any = true;
    each.add(*report, path, filtering);
  }
  if (any) return std::max(status, each.end());
  filtering.say_lacking();
  return kBadInput;
}

constexpr std::size_t kLeastWithFigures = 4;  // rows

int publish_processes(const Arguments& arguments, std::vector<ReportOfProcess> reports,
                      const LeftAside& left_aside, const RunsNaming& naming,
                      const RowChoice& choice) {
  const Listing& listing = arguments.listing;
  if (listing.csv) {
    return publish_csv(listing,
                       [&](CsvText& csv) { add_runs_csv(csv, std::move(reports), choice); });
  }
  if (listing.json) {
    JsonText json;
    add_runs_json(json, std::move(reports), left_aside, naming, choice);
    return publish(listing, json.text());
  }
  Page page = page_of(listing);
  page.filters = typed_options(arguments.filter);
  const Runs runs = runs_of(std::move(reports), left_aside, naming, listing.sort);
  const auto has_figures = [usual = choice.most](const ScreenRoom& room) {
    return room.most(usual) >= kLeastWithFigures;
  };
  const auto processes = [=, usual = choice.most](const ScreenRoom& room) {
    if (room.brevity == Brevity::none) return usual;
    return brief_processes(room.most(usual), has_figures(room));
  };
  Document text = filter_head(arguments.filter);
  text.append(runs_text(runs, page, processes, has_figures));
  return publish(listing, on_screen(text, listing, page, choice.most));
}

// What shows each, or makes one of them.
constexpr const char* kNotTogether =
    "; report --each shows each report separately; vramscope merge combines them";

// All of them as one table of processes. Of each only what is needed for it is kept.
int show_together(const Arguments& arguments, const std::vector<std::string>& paths) {
  if (arguments.filter.chooses_rows()) {
    say(filter_text(arguments.filter) + ": a table of processes adds up whole kinds and devices" +
        kNotTogether);
    return kBadInput;
  }
  if (arguments.stacks.shown != Stacks::in_rows && !arguments.listing.json) {
    say(std::string(arguments.stacks.shown == Stacks::in_full ? "--full" : "--tree") +
        ": a table of processes has no call stacks" + kNotTogether);
    return kBadInput;
  }
  std::vector<ReportOfProcess> reports;
  int status = kFine;
  Filtering filtering(arguments.filter, kRowsUse);
  for (std::string path : paths) {
    std::optional<Report> report = open_report(path, arguments.reading);
    if (!report) {
      status = kBadInput;
      continue;
    }
    const Filtering::Result result = filtering.apply(*report, path);
    if (result == Filtering::Result::refused) return kBadInput;
    if (result == Filtering::Result::lacks) continue;
    const RankFacts facts = rank_facts_of(*report);
    for (MergedProcess& process : merged_processes(*report)) {
      reports.push_back({.file = path,
                         .process = std::move(process),
                         .is_merged = is_merged(*report),
                         .facts = facts});
    }
  }
  if (reports.empty()) {
    filtering.say_lacking();
    return kBadInput;
  }
  const LeftAside left_aside = drop_repeated_processes(reports);
  reports = concerned(std::move(reports), arguments.filter);
  const Listing& listing = arguments.listing;
  const bool has_all = listing.typed_most || listing.json || listing.csv;
  const RowChoice choice(has_all ? listing.most : kProcesses, listing.sort);
  const RunsNaming naming = naming_of(arguments, filtering);
  return std::max(status,
                  publish_processes(arguments, std::move(reports), left_aside, naming, choice));
}

int show(Arguments& arguments) {
  settle_rows(arguments.listing);
  if (arguments.files.empty()) {
    const std::string newest = newest_report_here();
    if (newest.empty()) {
      return refuse(
          "report: no FILE was named, and no report is in this folder; vramscope run PROGRAM makes "
          "one");
    }
    say("the newest report here is " + newest);
    arguments.files.push_back(newest);
  }
  const std::vector<std::string> paths = report_files(arguments.files, say);
  if (paths.empty()) return kBadInput;
  tell_newer(arguments.files, paths, say);
  const bool is_each = paths.size() == 1 || arguments.each;
  arguments.listing.rows().refuse_unless(
      {is_each ? names_of(share_columns(Report(), {})) : names_of(process_columns())});
  const int status = is_each ? show_each(arguments, paths) : show_together(arguments, paths);
  const LeftOvers left = left_overs();
  if (const std::string hint = hint_below(arguments.listing, left); !hint.empty()) {
    say(hint);
    note_told(left);
  }
  return status;
}

}  // namespace

Verb add_report(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("report", "Summarize a report on one screen");
  command.words("FILE", arguments->files,
                std::string(kReportsHelp) + "; default: the newest report here");
  command.flag("--each", arguments->each, "Show each report separately");
  add_listing_options(command, arguments->listing);
  add_layout_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  add_filters(command, arguments->filter, kRowsUse);
  add_view_options(command, arguments->stacks);
  command.footer(
      "Examples:\n"
      "  vramscope report                                     the newest report here\n"
      "  vramscope report vramscope.train.4711.json\n"
      "  vramscope report .                                   all reports of this folder, a line "
      "each,\n"
      "                                                       and their combined memory\n"
      "  vramscope report -n 30 vramscope.train.4711.json     the 30 largest call sites\n"
      "  vramscope report --json vramscope.train.4711.json | jq '.peak[0]'");
  return {.command = &command, .act = [arguments] { return show(*arguments); }};
}

}  // namespace vramscope
