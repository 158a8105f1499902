// Reads reports on every core, and keeps of each what its timeline needs.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/timeline_of_ranks.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "reporter/report/merged_process.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/own_report.h"
#include "reporter/view/analysis/peaks/exact_peaks.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/command/merged_input.h"
#include "reporter/view/command/progress.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/ranks_timeline_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kNamed = 5;        // processes, unless told otherwise
constexpr std::size_t kDataSteps = 200;  // of JSON and CSV

struct Processes {
  std::vector<ReportOfProcess> reports;
  bool is_refused = false;
  std::size_t failed = 0;
};

// In the order of the paths.
Processes processes_of(const OneReport& given, const std::vector<std::string>& paths) {
  Processes found;
  Filtering filtering(given.filter, given.use);
  std::vector<std::vector<ReportOfProcess>> by_path(paths.size());
  found.failed = read_each(paths, [&](Report&& report, std::size_t which) {
    if (found.is_refused) return;
    const std::string& path = paths[which];
    if (const std::string remark = take_in(report, path, given.reading); !remark.empty())
      say(remark);
    const Filtering::Result result = filtering.apply(report, path);
    if (result == Filtering::Result::refused) found.is_refused = true;
    if (result != Filtering::Result::done) return;
    for (MergedProcess& process : merged_processes(report))
      by_path[which].push_back({path, std::move(process), is_merged(report)});
  });
  for (std::vector<ReportOfProcess>& some : by_path)
    std::ranges::move(some, std::back_inserter(found.reports));
  if (found.reports.empty() && !found.is_refused) filtering.say_lacking();
  (void)drop_repeated_processes(found.reports);
  choose_memory(found.reports);
  ProgressLine progress("traces", "events");
  make_peaks_exact(found.reports, progress.teller());
  return found;
}

int publish_data(const Listing& listing, const RanksTimeline& ranks) {
  if (listing.csv)
    return publish_csv(listing,
                       [&](CsvText& csv) { add_ranks_timeline_csv(csv, ranks, listing.rows()); });
  return publish(listing, json_of(ranks, ranks_timeline_fields(*ranks.reports, listing.rows())));
}

std::string text_of(const OneReport& given, const RanksTimeline& ranks, const RanksLook& look,
                    const Page& page) {
  const Listing& listing = given.listing;
  const TimelineLook how{.scale = look.scale,
                         .lines = screen_lines(listing),
                         .most = listing.typed_most ? listing.most : kNamed,
                         .must_fit = !listing.typed_most};
  Document text = filter_head(given.filter);
  const Document drawn = ranks_timeline_text(ranks, how, page);
  text.append(drawn);
  if (!drawn.shows_nothing())
    text.next("report", given.files.size() == 1 ? given.files.front() : "FILE...");
  return render(text, page);
}

}  // namespace

int show_ranks(const OneReport& given, const std::vector<std::string>& paths,
               const RanksLook& look) {
  const Listing& listing = given.listing;
  listing.rows().refuse_unless({listing.csv ? names_of(rank_step_columns()) : rank_column_names()});
  const Processes found = processes_of(given, paths);
  if (found.is_refused || found.reports.empty()) return kBadInput;
  Page page = page_of(listing);
  page.unicode = page.unicode && !look.ascii;
  page.filters = typed_options(given.filter);
  RanksChoice choice = look.choice;
  choice.steps = listing.csv || listing.json ? kDataSteps : steps_on(page);
  RanksTimeline ranks{.reports = &found.reports, .over = ranks_over_time(found.reports, choice)};
  const int status = found.failed == 0 ? kFine : kBadInput;
  if (listing.csv || listing.json) return std::max(status, publish_data(listing, ranks));
  arrange_far(ranks, listing.rows());
  return std::max(status, publish(listing, text_of(given, ranks, look, page)));
}

std::size_t screen_lines(const Listing& listing) {
  constexpr std::size_t kUsual = 24;
  const char* const given = std::getenv("LINES");
  const std::string text = given == nullptr ? "" : given;
  if (!text.empty() && not_a_count(text).empty()) return std::stoul(text);
  winsize size{};
  const bool is_terminal = listing.output.empty() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return is_terminal && size.ws_row != 0 ? size.ws_row : kUsual;
}

}  // namespace vramscope
