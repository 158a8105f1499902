// vramscope html: one page of a report, a trace or several reports, to look at in a browser.
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "reporter/report/files/input_file.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/diff/same_gpus.h"
#include "reporter/view/analysis/filter/instant.h"
#include "reporter/view/analysis/peaks/traced_peaks.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/html_answers.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/merged_input.h"
#include "reporter/view/command/newer.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/export/build_parts.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/page/page.h"
#include "reporter/view/page/page_ranks.h"
#include "reporter/view/page/trace_page.h"
#include "reporter/view/text/diff_text.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/report_text.h"
#include "reporter/view/text/runs_text.h"
#include "reporter/view/text/timeline_bounds.h"
#include "reporter/view/text/timeline_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kDifferences = 200;  // rows

const FilterUse kPageUse{
    .inputs = Inputs::both, .draws_window = true, .row_is_of_memory = true, .of_a_trace = "html"};

struct Arguments {
  std::vector<std::string> files;
  std::string output;
  bool forced = false;
  bool shared = false;
  StackChoice stacks{.view = StackView::with_native};
  Filter filter;
  Reading reading;
};

// "vramscope.train.4711.html" beside vramscope.train.4711.json.zst, "train.4711.trace.html" beside
// train.4711.trace; of a folder "folder/vramscope.html".
std::string page_of_input(std::string path) {
  struct stat found {};
  if (stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path + "/vramscope.html";
  }
  if (path.find_first_of("*?[") != std::string::npos) return "vramscope.html";
  for (const std::string_view end : {".zst", ".json"}) {
    if (path.size() > end.size() && path.ends_with(end)) path.erase(path.size() - end.size());
  }
  return path + ".html";
}

// Of two reports that are compared, beside the second: "before-to-after.html".
std::string page_of_both(const std::string& before, const std::string& after) {
  const auto name_of = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  const std::string page = page_of_input(after);
  const std::string name = name_of(page);
  std::string first = name_of(page_of_input(before));
  first.erase(first.size() - std::string_view(".html").size());
  return page.substr(0, page.size() - name.size()) + first + "-to-" + name;
}

// Each of what a page is of has a name of its own; of three and more it is of none of them.
std::string usual_page(const std::vector<std::string>& words) {
  if (words.size() > 2) return "vramscope.html";
  return words.size() == 2 ? page_of_both(words.front(), words.back())
                           : page_of_input(words.back());
}

// Of a name that nobody typed: a link that another user put there is not followed, nor a pipe of
// his waited for. "": it is a file, or free.
std::string why_not_plain(const std::string& path) {
  std::error_code error;
  switch (std::filesystem::symlink_status(path, error).type()) {
    case std::filesystem::file_type::symlink:
      return "a link";
    case std::filesystem::file_type::fifo:
      return "a pipe";
    case std::filesystem::file_type::directory:
      return "a folder";
    case std::filesystem::file_type::regular:
    case std::filesystem::file_type::not_found:
    case std::filesystem::file_type::none:
      return "";
    default:
      return "no plain file";
  }
}

int publish_page(const Arguments& given, const std::string& page) {
  if (given.output == "-") return publish({}, page);
  const bool is_named = !given.output.empty();
  const std::string path = is_named ? given.output : usual_page(given.files);
  if (!is_named) {
    const std::string lost =
        lost_by(path, given.files, given.forced ? Overwriting::forced : Overwriting::asked_for);
    if (!lost.empty()) return refuse(lost + ", -o FILE chooses another name");
    const std::string other = why_not_plain(path);
    if (!other.empty()) {
      return refuse("'" + path + "' is " + other + "; -o FILE chooses another name");
    }
  }
  const int status =
      publish({.output = path, .forced = given.forced, .shared = given.shared}, page);
  if (status == kFine) say("page in " + path);
  return status;
}

using Window = std::optional<std::pair<std::uint64_t, std::uint64_t>>;

// --from and --to choose what a person can choose on the page.
Window window_of(const Filter& filter) {
  if (filter.from.empty() && filter.to.empty()) return std::nullopt;
  return std::make_pair(read_instant(filter.from).value_or(0),
                        read_instant(filter.to).value_or(UINT64_MAX));
}

Filter without_times(Filter filter) {
  filter.from = filter.to = "";
  return filter;
}

// What is advised concerns the whole program, and is not shown beside a part of it.
bool is_whole(const Filter& filter) { return filter_text(filter).empty(); }

int page_of_trace(const Arguments& given, const std::string& file) {
  const Filter filter = without_times(given.filter);
  const PageAnswers answers =
      is_whole(filter) ? answers_of_trace(file, given.reading, given.stacks) : PageAnswers{};
  std::optional<std::string> page;
  const auto use = [&](TraceFollower& trace) {
    page = trace_page(trace, {.path = file,
                              .filter = filter,
                              .stacks = given.stacks,
                              .window = window_of(given.filter),
                              .advice = answers.advice,
                              .fit = answers.fit});
  };
  if (!follow_trace(file, given.reading, filter, FollowedTimes::all, use)) return kBadInput;
  return publish_page(given, *page);
}

// What views the memory of others is shown where --kind asks for it alone.
void leave_out_views_of(Report& report, const Filter& filter) {
  if (filter.kind.empty()) leave_out_views(report);
}

// The reports of single processes once more, to tell what made one of them differ. Those whose
// names have the process's number are looked at first.
class ReportsAgain {
 public:
  ReportsAgain(std::vector<std::string> paths, const Arguments& given)
      : paths_(std::move(paths)), given_(given) {}

  [[nodiscard]] static std::string key_of(const ProcessFacts& process) {
    return key_of(identity_of(process));
  }
  [[nodiscard]] static std::string key_of(const ProcessIdentity& who) {
    return std::to_string(std::get<1>(who)) + " on " + std::get<0>(who);
  }
  // The last one of the process; nothing where it was merged of several.
  [[nodiscard]] std::optional<Report> operator()(const std::string& key) const {
    const std::string pid = "." + key.substr(0, key.find(' ')) + ".";
    std::vector<std::string> paths = paths_;
    std::stable_partition(paths.begin(), paths.end(), [&](const std::string& path) {
      return path.find(pid) != std::string::npos;
    });
    for (std::string& path : paths) {
      if (const WrittenBy other = written_by(path); other.is_known() && key_of(other.who) != key)
        continue;
      std::optional<Report> report = open_report(path, given_.reading);
      if (!report || is_merged(*report) || key_of(report->process) != key) continue;
      const Filter filter = without_times(given_.filter);
      if (!Filtering(filter, kPageUse).applies(*report, path)) return std::nullopt;
      leave_out_views_of(*report, filter);
      choose_frames(*report, given_.stacks);
      leave_out_small_rows(*report, filter, kPageUse);
      return report;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> paths_;
  const Arguments& given_;
};

struct Beside {
  std::string diff = {};
  std::string runs = {};
  std::string ranks = {};
  PageAnswers answers = {};
};

// The processes that were merged, as `report` and `timeline` have them.
void add_runs(Beside& beside, const Report& report, const ReportsAgain& again) {
  if (!is_merged(report)) return;
  std::vector<ReportOfProcess> all;
  for (const MergedProcess& process : report.processes) {
    all.push_back({ReportsAgain::key_of(process.process), process});
  }
  const RunsNaming naming{.read_again = again, .name = names_from_symbols()};
  JsonText json;
  beside.ranks = ranks_for_page(all);
  add_runs_json(json, std::move(all), LeftAside{}, naming, 0);
  beside.runs = json.text();
}

std::string moment_of(const Report& report) {
  if (trigger_of(report) == Trigger::exit) return "at the end";
  return trigger_of(report) == Trigger::imported ? "when the snapshot was taken"
                                                 : "when it was written";
}

int page_of_report(const Arguments& given, const std::string& path, Report& report,
                   const Beside& beside) {
  constexpr std::size_t kPinners = 20;
  constexpr std::size_t kCells = 8000;
  add_joint_bounds(report);
  RunTimeline timeline = run_timeline(report, {});
  add_bounds(timeline, report);
  std::vector<MapPlace> places = memory_map(report);
  PageMap map;
  map.add(places, {.text = moment_of(report), .at_ns = report.timeline.duration_ns}, kPinners,
          kCells);
  const PageOf of{.path = path,
                  .report = report,
                  .timeline = timeline,
                  .places = std::move(places),
                  .map = map,
                  .diff = beside.diff,
                  .runs = beside.runs,
                  .ranks = beside.ranks,
                  .advice = beside.answers.advice,
                  .fit = beside.answers.fit,
                  .filter = filter_text(without_times(given.filter)),
                  .window = window_of(given.filter)};
  return publish_page(given, page_text(of, names_from_symbols()));
}

// What changed from the first word's report to the second's, and then that one.
int page_of_two(const Arguments& given) {
  std::string before_path = given.files[0];
  std::string after_path = given.files[1];
  tell_newer(given.files, given.files, say);
  std::optional<Report> before = open_named(before_path, given.reading);
  std::optional<Report> after = open_named(after_path, given.reading);
  if (!before || !after) return kBadInput;
  number_gpus_as_in(*after, *before);
  const Filter filter = without_times(given.filter);
  Filter rows = filter;
  rows.min_bytes.clear();  // what one report has less of, the other may have more of
  Filtering filtering(rows, kPageUse);
  if (!filtering.applies_to_both({*before, before_path}, {*after, after_path})) return kBadInput;
  leave_out_views_of(*before, filter);
  leave_out_views_of(*after, filter);
  choose_frames(*before, given.stacks);
  choose_frames(*after, given.stacks);
  const NameFrame name = names_from_symbols();
  DiffOf of{.before = before_path, .after = after_path, .most = kDifferences};
  describe_sides(of, *before, *after);
  const std::string diff =
      diff_json(differences(*before, *after, of.by, of.at, name, filter.least_bytes()), of);
  leave_out_small_rows(*after, filter, kPageUse);
  return page_of_report(given, before_path + " and " + after_path, *after, {.diff = diff});
}

int page_of_reports(const Arguments& given) {
  std::string path = given.files.front();
  std::vector<std::string> paths = report_files(given.files, say);
  if (paths.empty()) return kBadInput;
  tell_newer(given.files, paths, say);
  std::optional<Report> report =
      given.files.size() == 1 ? open_named(path, given.reading) : open_merged(paths, given.reading);
  const Filter filter = without_times(given.filter);
  if (!report || !Filtering(filter, kPageUse).applies(*report, path)) return kBadInput;
  Beside beside;
  if (is_whole(filter))
    beside.answers = answers_of_report(path, *report, given.reading, given.stacks);
  leave_out_views_of(*report, filter);
  choose_frames(*report, given.stacks);
  leave_out_small_rows(*report, filter, kPageUse);
  std::reverse(paths.begin(), paths.end());  // later reports of a process have later names
  if (paths.size() == 1) {                   // of several all are there
    for (const MergedProcess& process : report->processes) {
      std::string own = own_file({.file = path, .process = process, .is_merged = true});
      if (!own.empty()) paths.push_back(std::move(own));
    }
  }
  add_runs(beside, *report, ReportsAgain(paths, given));
  return page_of_report(given, path, *report, beside);
}

int write_html(const Arguments& given) {
  if (!has_page()) {
    return refuse("this build has no page: " + std::string(why_no_page()) +
                  "; every other verb works");
  }
  const std::vector<std::string>& words = given.files;
  const bool any_trace = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return is_trace(word) || (is_import(word) && !is_memory_snapshot(word));
  });
  if (any_trace && words.size() > 1) return refuse("a page shows one trace, or reports");
  if (any_trace) return page_of_trace(given, words.front());
  return words.size() == 2 ? page_of_two(given) : page_of_reports(given);
}

}  // namespace

Verb add_html(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("html", "Write an interactive page for a browser");
  command.positional("FILE", &arguments->files,
                     "A report, a trace, two reports to compare, or a folder of reports");
  command.option(
      "-o,--output", &arguments->output,
      "Write to FILE, or to standard output (-); default: FILE with .html (r.json: r.html)",
      {.value_name = "FILE"});
  add_force(command, arguments->forced);
  add_share(command, arguments->shared);
  add_filters(command, arguments->filter, kPageUse);
  add_view_options(command, arguments->stacks);
  add_redact(command, arguments->reading);
  command.footer(
      "The page is one file and loads nothing from the network. It always shows native frames "
      "between Python frames, unless --python-only or --native-only is given.\nExamples:\n  "
      "vramscope html vramscope.train.4711.json           vramscope.train.4711.html\n  vramscope "
      "html train.4711.trace                    train.4711.trace.html, exact over time\n  "
      "vramscope html before.json after.json              what changed: before-to-after.html\n  "
      "vramscope html -o ranks.html run/                  all processes of a folder");
  return {.command = &command, .act = [arguments] { return write_html(*arguments); }};
}

}  // namespace vramscope
