// vramscope check: whether reports keep to limits, for a CI job.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "interpose/settings/options.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/diff/same_gpus.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/command/check_between.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/merged_input.h"
#include "reporter/view/command/newer.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/text/check_text.h"
#include "reporter/view/text/instant_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kSites = 3;
const FilterUse kUse{.judges_sums = true};

struct Arguments {
  std::vector<std::string> files;
  std::string peak, reserved, used, leak, total, allocations;  // "": no limit
  bool no_oom = false;
  bool interim = false;
  std::vector<std::string> between;  // two instants; {}: reports are judged, not traces
  std::string held, added;           // limits of that
  std::string baseline;              // "": none
  std::string tolerance = "0%";
  std::vector<std::string> suppress;
  bool no_usual = false;
  Listing listing{.json = false, .most = kSites, .output = ""};
  Filter filter;
  Reading reading;
};

// Says so of a snapshot without history, which no limit can judge.
bool tells_too_little(const Report& report, const std::string& path) {
  if (tells_frees(report)) return false;
  say("'" + path +
      "' is a snapshot without history: it tells what was live when it was taken, but no peak and "
      "no free, which check would judge");
  return true;
}

std::string no_size(const std::string& word) {
  Bytes bytes;
  return read(word, bytes)
             ? ""
             : "'" + word + "' is not a number of bytes such as 10GiB or 0" + unit_meant(word);
}

std::string no_percent(const std::string& word) {
  Percent percent;
  return read(word, percent) ? "" : "'" + word + "' is not a percentage such as 2%";
}

std::optional<std::uint64_t> size_limit(const std::string& word) {
  Bytes bytes;
  if (word.empty() || !read(word, bytes)) return std::nullopt;
  return bytes.value;
}

// What leads to leaks leaves out what this did.
std::string with_suppressions(std::string next, const Arguments& given) {
  constexpr std::string_view kLeaks = "leaks ";
  if (!next.starts_with(kLeaks)) return next;
  std::string options;
  for (const std::string& file : given.suppress) options += "--suppress " + shell_word(file) + " ";
  if (given.no_usual) options += "--no-default-suppressions ";
  return next.insert(kLeaks.size(), options);
}

// Of one that was named by itself, or all of whose family were.
void add_newer(Checked& checked, const std::string& path, const std::vector<std::string>& paths) {
  if (const auto newer = newer_than(path, paths)) {
    checked.unfinished.push_back({path, newer_text(*newer)});
  }
}

// The one reason why the report is not the last word, if it is not.
void add_end_of_run(Checked& checked, const Report& report, const std::string& path,
                    const std::vector<std::string>& paths) {
  add_newer(checked, path, paths);
  if (checked.unfinished.empty()) add_unfinished(checked, report, path);
}

// False: no report could be judged. What could not be read was said.
bool check_each(const Arguments& given, const std::vector<std::string>& paths,
                const CheckLimits& limits, const Suppressions& suppressions,
                std::vector<Checked>& all) {
  Filtering filtering(given.filter, kUse);
  const auto read_again = [&](const std::string& file) {
    std::string path = file;
    std::optional<Report> report = open_report(path, given.reading);
    if (report && filtering.apply(*report, path) != Filtering::Result::done) report.reset();
    if (report) choose_frames(*report, {});
    return report;
  };
  const RunsNaming naming{.read_again = read_again, .name = names_from_symbols()};
  for (std::string path : paths) {
    std::optional<Report> report = open_report(path, given.reading);
    if (!report || tells_too_little(*report, path)) {
      all.push_back({.file = path, .next = {}, .checks = {}, .is_unread = true});
      continue;
    }
    const Filtering::Result result = filtering.apply(*report, path);
    if (result == Filtering::Result::refused) return false;
    if (result == Filtering::Result::lacks) continue;
    if (!given.filter.site.empty() && report->sites.empty()) continue;
    choose_frames(*report, {});
    all.push_back(checks_of(*report, path, limits, suppressions, naming));
    if (!given.interim) add_end_of_run(all.back(), *report, path, paths);
    all.back().next = with_suppressions(all.back().next, given);
  }
  const std::size_t unread = unread_in(all);
  const bool is_any_judged = all.size() > unread;
  if (!is_any_judged && paths.size() > unread) {
    filtering.say_lacking();
    if (!given.filter.site.empty()) say("no call stack passes --site " + given.filter.site);
  }
  return is_any_judged;
}

// All together against all together.
bool check_baseline(Arguments& given, const std::vector<std::string>& paths,
                    const Suppressions& suppressions, std::vector<Checked>& all) {
  std::optional<Report> report = open_merged(paths, given.reading);
  std::optional<Report> baseline =
      report ? open_named(given.baseline, given.reading) : std::nullopt;
  if (!baseline) return false;
  if (tells_too_little(*baseline, given.baseline)) return false;
  if (all.empty() && tells_too_little(*report, given.files.front())) return false;
  number_gpus_as_in(*report, *baseline);
  Filtering filtering(given.filter, kUse);
  if (!filtering.applies(*report, given.files.front())) return false;
  if (filtering.apply(*baseline, given.baseline) == Filtering::Result::lacks) {
    filter_report(*baseline, given.filter, kUse, names_from_symbols());  // nothing of it was there
  }
  choose_frames(*report, {});
  choose_frames(*baseline, {});
  Percent tolerance;
  (void)read(given.tolerance, tolerance);
  const std::string file = paths.size() == 1 ? paths.front() : given.files.front();
  const auto read_again = [&](const std::string& of_one) {
    std::string path = of_one;
    std::optional<Report> own = open_report(path, given.reading);
    if (own && Filtering(given.filter, kUse).apply(*own, path) != Filtering::Result::done) {
      own.reset();
    }
    if (own) choose_frames(*own, {});
    return own;
  };
  const RunsNaming naming{.read_again = read_again, .name = names_from_symbols()};
  Checked checked = checks_against(*report, *baseline, file, tolerance.value, suppressions, naming);
  if (all.empty()) add_ends(checked, *report, file);  // else those before it have said so
  if (all.empty() && !given.interim) {
    for (const std::string& path : paths) add_newer(checked, path, paths);
    add_unfinished(checked, *report, file);
  }
  if (!given.interim) add_unfinished(checked, *baseline, given.baseline);
  checked.next = "diff " + shell_word(given.baseline) + " " + shell_word(file);
  all.push_back(std::move(checked));
  return true;
}

int publish_checks(const Listing& listing, const std::vector<Checked>& all, const Filter& filter) {
  if (listing.csv) return publish_csv(listing, [&](CsvText& csv) { add_check_csv(csv, all); });
  Page page = page_of(listing);
  page.filters = typed_options(filter);
  if (listing.json) return publish(listing, check_json(all, listing.most));
  Document text = filter_head(filter);
  text.append(check_text(all, page, listing.most, listing.typed_most.has_value()));
  return publish(listing, render(text, page));
}

bool is_of_whole_devices(Filter filter) {
  filter.device.reset();
  return filter.is_empty();
}

CheckLimits limits_of(const Arguments& given) {
  return {.peak = size_limit(given.peak),
          .leak = size_limit(given.leak),
          .total = size_limit(given.total),
          .allocations = size_limit(given.allocations),
          .reserved = size_limit(given.reserved),
          .used = size_limit(given.used),
          .refusals = given.no_oom ? std::optional<std::uint64_t>(0) : std::nullopt};
}

// Of what is held from one instant of a trace to another; judges no report.
int check_instants(Arguments& given, bool any_other) {
  if (any_other || !given.baseline.empty()) {
    return refuse(
        "check: --between judges traces by --max-held and --max-new, not by other limits");
  }
  return check_between(
      {.files = given.files,
       .instants = given.between,
       .limits = {.held = size_limit(given.held), .added = size_limit(given.added)},
       .listing = given.listing,
       .filter = given.filter,
       .reading = given.reading});
}

int check(Arguments& given) {
  const CheckLimits limits = limits_of(given);
  const bool any_limit = limits.peak || limits.leak || limits.total || limits.allocations ||
                         limits.reserved || limits.used || limits.refusals;
  if (!given.between.empty()) return check_instants(given, any_limit);
  if (!any_limit && given.baseline.empty()) {
    say("check: a limit is missing, such as --max-peak 10GiB or --against BASELINE; see vramscope "
        "check --help");
    return kBadInput;
  }
  if ((limits.reserved || limits.used) && !is_of_whole_devices(given.filter)) {
    return refuse(
        "check: --max-reserved and --max-used judge all memory of a GPU and take no filter but "
        "--device");
  }
  const std::optional<Suppressions> suppressions =
      open_suppressions(given.suppress, given.no_usual);
  if (!suppressions) return kBadInput;
  settle_rows(given.listing);
  given.listing.rows().refuse_unless({names_of(check_columns(""))});
  std::vector<std::string> paths = report_files(given.files, say, EmptyFiles::taken);
  if (paths.empty()) return kBadInput;
  if (paths.size() > 1) drop_repeated_processes(paths, say);
  paths.push_back(given.baseline);
  for (const std::string& path : paths) {
    if (!is_trace(path)) continue;
    return refuse(
        "'" + path +
        "' is a trace: check judges reports, which run writes beside traces; for a trace, use: "
        "vramscope leaks --error-exitcode " +
        shell_word(path));
  }
  paths.pop_back();
  std::vector<Checked> all;
  if (any_limit && !check_each(given, paths, limits, *suppressions, all)) return kBadInput;
  if (!given.baseline.empty() && !check_baseline(given, paths, *suppressions, all)) {
    return kBadInput;
  }
  for (Checked& one : all) arrange(one.checks, check_columns(one.file), given.listing.rows());
  const int status = publish_checks(given.listing, all, given.filter);
  if (unread_in(all) != 0) return kBadInput;
  return status != kFine || all_passed(all) ? status : kThreshold;
}

void add_between(Command& command, Arguments& arguments) {
  command.option("--between", &arguments.between,
                 "Show what a trace holds from A to B: times, marks, ranges or end",
                 {.value_name = "A B", .why_not = no_instant_or_mark, .values = 2});
  command.option("--max-held", &arguments.held, "Limit bytes live at A and still held at B",
                 {.value_name = "BYTES", .why_not = no_size, .needs = "--between"});
  command.option("--max-new", &arguments.added, "Limit bytes allocated between A and B, held at B",
                 {.value_name = "BYTES", .why_not = no_size, .needs = "--between"});
}

}  // namespace

Verb add_check(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("check", "Exit with status 1 if a report exceeds a limit");
  command.positional("FILE", &arguments->files, kReportsHelp);
  const OptionTraits size{.value_name = "BYTES", .why_not = no_size};
  command.option("--max-peak", &arguments->peak, "Limit the peak of requested bytes on a device",
                 size);
  command.option("--max-reserved", &arguments->reserved,
                 "Limit reserved bytes on a device: segments and uncached memory", size);
  command.option("--max-used", &arguments->used,
                 "Limit used bytes on a device, including contexts and code", size);
  command.option("--max-leak", &arguments->leak, "Limit bytes that are never freed", size);
  command.option("--max-total", &arguments->total, "Limit bytes allocated in total", size);
  command.option("--max-allocations", &arguments->allocations, "Limit the number of allocations",
                 {.value_name = "N", .why_not = not_a_count});
  command.flag("--no-oom", arguments->no_oom, "Fail if a call ran out of memory");
  command.flag("--interim", arguments->interim,
               "Accept reports that were written before the program ended");
  command.option("--against", &arguments->baseline,
                 "Compare peaks and leaks with this report or folder", {.value_name = "BASELINE"});
  command.option("--tolerance", &arguments->tolerance, "Allow this much above the baseline",
                 {.value_name = "PERCENT",
                  .why_not = no_percent,
                  .shows_default = true,
                  .needs = "--against"});
  add_between(command, *arguments);
  command.option("--suppress", &arguments->suppress,
                 "Ignore leaks that FILE lists (LeakSanitizer's syntax); repeatable",
                 {.value_name = "FILE"});
  command.flag("--no-default-suppressions", arguments->no_usual,
               "Also count what common libraries keep");
  add_listing_options(command, arguments->listing);
  add_filters(command, arguments->filter, kUse);
  add_redact(command, arguments->reading);
  command.footer(
      "Limits apply to each process, also in a merged report. With --against, the sum of all "
      "reports is compared with the baseline's sum, and each rank with the same rank. Bytes are "
      "requested bytes, except for --max-reserved and --max-used. Running out of memory is "
      "reported, but fails the check only with --no-oom. Without --interim, a report fails if it "
      "was written before the program ended, or if a newer report lies beside it.\n"
      "Examples:\n"
      "  vramscope check --max-peak 10GiB --max-leak 0 vramscope.train.4711.json\n"
      "  vramscope check --kind pinned --max-peak 1GiB 'run/*.json'\n"
      "  vramscope check --against main.json --tolerance 2% vramscope.train.4711.json\n"
      "  vramscope check --between sleep wake --max-held 1GiB server.4711.trace");
  return {.command = &command, .act = [arguments] { return check(*arguments); }};
}

}  // namespace vramscope
