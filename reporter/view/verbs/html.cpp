// vramscope html: one page of a report, a trace or several reports, to look at in a browser.
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "reporter/report/files/input_file.h"
#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/view/html/page.h"
#include "reporter/view/html/trace_windows.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/text/diff_text.h"
#include "reporter/view/text/runs_text.h"
#include "reporter/view/text/trace_map.h"
#include "reporter/view/text/trace_report.h"
#include "reporter/view/text/trace_timeline.h"
#include "reporter/view/verbs/inputs.h"
#include "reporter/view/verbs/merged_input.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

constexpr std::size_t kDifferences = 200;  // rows
constexpr const char* kFirstWords = "<!doctype html><!-- Vramscope -->";

struct Arguments {
  std::vector<std::string> files;
  std::string output;
  StackChoice stacks{.view = StackView::with_native};
  Filter filter;
};

// "vramscope.train.4711.html" beside vramscope.train.4711.json.zst; of a folder "folder/page.html".
std::string page_of_input(std::string path) {
  struct stat found {};
  if (stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path + "/vramscope.html";
  }
  if (path.find_first_of("*?[") != std::string::npos) return "vramscope.html";
  for (const std::string_view end : {".zst", ".json", ".trace"}) {
    if (path.size() > end.size() && path.ends_with(end)) path.erase(path.size() - end.size());
  }
  return path + ".html";
}

// Whether a file of this name may be written without being asked for by name: there is none, or
// one of ours.
bool may_be_replaced(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return true;
  return S_ISREG(found.st_mode) &&
         beginning_of(path, std::string_view(kFirstWords).size()) == kFirstWords;
}

int publish_page(const Arguments& given, const std::string& page) {
  if (given.output == "-") return publish({}, page);
  const bool is_named = !given.output.empty();
  const std::string path = is_named ? given.output : page_of_input(given.files.back());
  if (!is_named && !may_be_replaced(path)) {
    return refuse("'" + path +
                  "' is there and no page of Vramscope's; -o FILE chooses another name");
  }
  const int status = publish({.output = path}, page);
  if (status == kFine) say("page in " + path);
  return status;
}

int page_of_trace(const Arguments& given, const std::string& file) {
  std::string page;
  const auto use = [&](TraceReader& reader) {
    TraceTotals totals;
    const auto add = [&](const TraceEvent& event) { totals.add(event); };
    if (!reader.read(TraceReader::Order::by_change, add)) return reader.problem();
    totals.finish();
    Report report = report_of_trace(reader.names(), totals);
    const TraceTimeline timeline = trace_timeline(reader, {}, {}, names_from_symbols());
    if (!timeline.problem.empty()) return timeline.problem;
    TraceMap map = trace_map(reader, {.what = TraceInstant::What::peak}, {}, names_from_symbols());
    const std::vector<std::size_t> sites = choose_frames(report, given.stacks);
    choose_frames(map.report, given.stacks);  // its sites are those of the report, and stay so
    if (map.report.sites.size() != report.sites.size()) map.problem = "other sites";
    TraceWindows windows(totals.first_ns, totals.last_ns, [&](Tag tag) {
      return sites[std::min(site_of_tag(reader.names(), tag), sites.size() - 1)];
    });
    const auto add_to_windows = [&](const TraceEvent& event) { windows.add(event); };
    if (!reader.read(TraceReader::Order::by_change, add_to_windows)) return reader.problem();
    windows.finish();
    page =
        page_text({.path = file,
                   .report = report,
                   .timeline = timeline.timeline,
                   .places = map.problem.empty() ? memory_map(map.report) : std::vector<MapPlace>(),
                   .moment = map.moment,
                   .windows = &windows},
                  names_from_symbols());
    return std::string();
  };
  if (!given.filter.is_empty()) {
    return refuse("a page of a trace has all of it; vramscope trace takes filters");
  }
  return read_trace(file, use) ? publish_page(given, page) : kBadInput;
}

// The processes that were merged, as `report` has them.
std::string runs_of(const Report& report, const std::string& path) {
  if (report.processes.empty()) return "";
  std::vector<ReportOfProcess> all;
  for (const MergedProcess& process : report.processes) all.push_back({path, process});
  return runs_json(std::move(all), LeftAside{}, RunsNaming{}, 0);
}

int page_of_report(const Arguments& given, const std::string& path, Report& report,
                   const std::string& diff, const NameFrame& name) {
  const RunTimeline timeline = run_timeline(report, {});
  const std::string page =
      page_text({.path = path,
                 .report = report,
                 .timeline = timeline,
                 .places = memory_map(report),
                 .moment = {.text = report.trigger == "exit" ? "at the end" : "when it was written",
                            .at_ns = report.timeline.duration_ns},
                 .diff = diff,
                 .runs = runs_of(report, path)},
                name);
  return publish_page(given, page);
}

// False: it was said why not.
bool filter_one(Report& report, const Arguments& given, const std::string& path) {
  const FilterUse use;
  return Filtering(given.filter, use).applies(report, path);
}

// What changed from the first word's report to the second's, and then that one.
int page_of_two(const Arguments& given) {
  std::string before_path = given.files[0];
  std::string after_path = given.files[1];
  std::optional<Report> before = open_named(before_path);
  std::optional<Report> after = open_named(after_path);
  if (!before || !after) return kBadInput;
  if (!filter_one(*before, given, before_path) || !filter_one(*after, given, after_path)) {
    return kBadInput;
  }
  choose_frames(*before, given.stacks);
  choose_frames(*after, given.stacks);
  const NameFrame name = names_from_symbols();
  const DiffOf of{.before = before_path, .after = after_path, .most = kDifferences};
  const std::string diff = diff_json(differences(*before, *after, of.by, of.at, name), of);
  return page_of_report(given, after_path, *after, diff, name);
}

int write_html(const Arguments& given) {
  if (!has_page()) {
    return refuse(
        "this build has no page: npm was not there, or could not fetch its packages, "
        "when it was built; every other verb works");
  }
  const std::vector<std::string>& words = given.files;
  const bool any_trace = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return is_trace(word) || (is_import(word) && !is_memory_snapshot(word));
  });
  if (any_trace && words.size() > 1) return refuse("a page is of one trace, or of reports");
  if (any_trace) return page_of_trace(given, words.front());
  if (words.size() == 2) return page_of_two(given);
  std::string path = words.front();
  const std::vector<std::string> paths = report_files(words, say);
  if (paths.empty()) return kBadInput;
  std::optional<Report> report = words.size() == 1 ? open_named(path) : open_merged(paths);
  if (!report || !filter_one(*report, given, path)) return kBadInput;
  choose_frames(*report, given.stacks);
  return page_of_report(given, path, *report, "", names_from_symbols());
}

}  // namespace

Verb add_html(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("html", "Write a page to look at in a browser");
  command.positional("FILE", &arguments->files,
                     "A report, a trace, two reports to compare, or a folder of reports");
  command.option("-o,--output", &arguments->output,
                 "Write to FILE, - for standard output; else FILE.html beside what it is of",
                 {.value_name = "FILE"});
  add_filters(command, arguments->filter);
  add_view_options(command, arguments->stacks);
  command.footer(
      "The page is one file; it loads nothing. Native frames between those of Python are shown.\n"
      "Examples:\n"
      "  vramscope html vramscope.train.4711.json           vramscope.train.4711.html\n"
      "  vramscope html train.4711.trace                    exact over time\n"
      "  vramscope html before.json after.json              what changed\n"
      "  vramscope html -o ranks.html run/                  all processes of a folder");
  return {.command = &command, .act = [arguments] { return write_html(*arguments); }};
}

}  // namespace vramscope
