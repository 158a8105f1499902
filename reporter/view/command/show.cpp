// Shows one report, several as one, or one after the other.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/show.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "reporter/view/command/csv_output.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/merged_input.h"
#include "reporter/view/command/newer.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/listing/fit.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/reports_text.h"

namespace vramscope {
namespace {

// What was made of one report or of several.
class Several {
 public:
  Several(const Listing& listing, bool are_several) : listing_(listing), are_several_(are_several) {
    if (are_several_) json_.array();
  }

  void add_data(const Report& report, const std::string& path, const Makers& make) {
    is_empty_ = false;
    if (listing_.csv) {
      if (!csv_)
        csv_.emplace(listing_.output, readers_of(listing_.shared));  // not before there is a report
      csv_->csv().lead(leading_cells(report, path));
      make.csv(report, csv_->csv());
      return;
    }
    const std::string one = make.json(report);
    if (!are_several_) {
      text_ = one;
      return;
    }
    json_.object();
    add_fields(json_, report, which_report(path));
    json_.key("listing").json(one).end();
  }
  // One whose text is empty is left out.
  void add_text(const Report& report, const std::string& path, const std::string& one,
                const Page& page) {
    is_empty_ = false;
    if (one.empty()) return;
    const std::string before = text_.empty() ? "" : "\n";
    if (are_several_) text_ += before + heading_text(report, path, page) + "\n";
    text_ += one;
  }
  [[nodiscard]] bool is_empty() const { return is_empty_; }
  // Of CSV: gives the exit code.
  int end_csv() {
    if (!csv_) return kBadInput;
    const std::string problem = csv_->end();
    return problem.empty() ? kFine : refuse(problem);
  }
  [[nodiscard]] std::string text() {
    return are_several_ && listing_.json ? json_.end().text() : text_;
  }

 private:
  const Listing& listing_;
  bool are_several_;
  bool is_empty_ = true;
  std::string text_;
  std::optional<CsvOutput> csv_;
  JsonText json_;
};

// Whether single events of the file are to be counted: of a log of another tool where its report
// would not tell what is asked for.
bool shows_events_of(const std::string& path, const OneReport& arguments) {
  if (is_trace(path)) return true;
  return !cannot_filter(arguments.filter, arguments.use).empty() && is_import(path);
}

}  // namespace

int show(OneReport& arguments, const Makers& make) {
  const auto open = [&](std::string& path) {
    arguments.is_trace = arguments.use.inputs == Inputs::both && shows_events_of(path, arguments);
    if (arguments.is_trace) return open_traced(path, arguments.filter, arguments.reading);
    if (is_trace(path)) {
      say_no_report(path, arguments.use.of_a_trace);
      return std::optional<Report>();
    }
    std::optional<Report> report = open_report(path, arguments.reading);
    arguments.is_trace = report && arguments.use.subject == Subject::rows &&
                         takes_its_trace(arguments.filter, arguments.use, *report, path);
    return arguments.is_trace ? open_traced(path, arguments.filter, arguments.reading) : report;
  };
  return show(arguments, make, open);
}

namespace {

// Reports of processes, none of which a trace has to answer for.
bool add_up(const OneReport& arguments, const std::vector<std::string>& paths) {
  const std::size_t least = arguments.together && arguments.is_together_asked ? 1 : 2;
  if (!arguments.adds_up || arguments.each || paths.size() < least) return false;
  if (!cannot_filter(arguments.filter, arguments.use).empty()) return false;
  return std::none_of(paths.begin(), paths.end(),
                      [](const std::string& path) { return is_trace(path) || is_import(path); });
}

// What was typed for the reports where that was one word, a folder or a pattern.
const std::string& typed_or(const OneReport& arguments, const std::string& other) {
  return arguments.files.size() == 1 ? arguments.files.front() : other;
}

}  // namespace

namespace {

// The command that leads on, where there is one.
void add_next(Document& text, const OneReport& arguments, const Report& report) {
  if (arguments.next.empty()) return;
  const bool has_nothing = !arguments.is_trace && report.kinds.empty() && report.oom.count == 0;
  text.next(has_nothing ? "stats" : arguments.next,
            arguments.next_file.empty() ? arguments.file : arguments.next_file);
}

// As it is, or on a screen with the shell's prompt below and what was said above.
std::string on_page(const OneReport& arguments, const Document& text, const Page& page) {
  constexpr std::size_t kPrompt = 1;
  constexpr std::size_t kName = 11;  // "vramscope: "
  if (!arguments.fits_screen) return render(text, page);
  const std::size_t said =
      arguments.said_columns == 0 ? 0 : 1 + (kName + arguments.said_columns) / page.width;
  return fitted(text, page, kPrompt + said, arguments.listing.most);
}

}  // namespace

namespace {

// Shows the reports of `paths` one after the other, and publishes what was made of all.
class Showing {
 public:
  Showing(OneReport& arguments, const Makers& make, std::size_t files)
      : arguments_(arguments),
        make_(make),
        are_several_(files > 1),
        page_(page_of(arguments.listing)),
        shown_(arguments.listing, are_several_),
        filtering_(arguments.filter, arguments.use) {
    page_.stacks = arguments.stacks.shown;
    page_.filters = options_for_next(arguments.filter, arguments.use);
    arguments.is_one_of_several = are_several_;
  }

  // Takes one report. Returns false if there is nothing to be shown of this and later ones.
  [[nodiscard]] bool add(const std::string& path, const OpenReport& open);
  // Publishes all of it. Returns the exit code, not less than `status`.
  [[nodiscard]] int end(int status);
  [[nodiscard]] int status() const { return status_; }

 private:
  void choose(Report& report);
  void add_text(const Report& report);
  [[nodiscard]] std::string text_of_several(const std::string& text) const;

  OneReport& arguments_;
  const Makers& make_;
  const bool are_several_;
  Page page_;
  Several shown_;
  Filtering filtering_;
  ReportsSummary summary_;
  std::string next_;
  int status_ = kFine;
};

bool Showing::add(const std::string& path, const OpenReport& open) {
  arguments_.file = path;
  arguments_.next_file.clear();
  arguments_.is_trace = false;
  std::optional<Report> report = open(arguments_.file);
  if (!report) {
    status_ = kBadInput;
    return true;
  }
  const Filtering::Result result =
      arguments_.is_trace ? Filtering::Result::done : filtering_.apply(*report, arguments_.file);
  if (result == Filtering::Result::refused) {
    status_ = kBadInput;
    return !shown_.is_empty();  // others had a trace that answered
  }
  if (result == Filtering::Result::lacks) return true;
  choose(*report);
  summary_.add(*report);
  if (arguments_.listing.json || arguments_.listing.csv) {
    shown_.add_data(*report, arguments_.file, make_);
  } else {
    add_text(*report);
  }
  return true;
}

// Leaves what is to be shown of a report.
void Showing::choose(Report& report) {
  choose_frames(report, arguments_.stacks);
  if (arguments_.prepare) arguments_.prepare(report);
  if (!arguments_.is_trace) {  // of a trace single allocations pass
    leave_out_small_rows(report, arguments_.filter, arguments_.use,
                         arguments_.row_of ? arguments_.row_of(report) : RowOfSite());
  }
  page_.of_trace = arguments_.is_trace;
}

void Showing::add_text(const Report& report) {
  const Document made = make_.text(report, page_);
  const bool leads_on = !made.is_empty() && !nothing_passes(arguments_, report, made);
  if (!are_several_) {
    Document whole = filter_head(arguments_, page_);
    whole.append(made);
    if (leads_on) add_next(whole, arguments_, report);
    shown_.add_text(report, arguments_.file, on_page(arguments_, whole, page_), page_);
    return;
  }
  shown_.add_text(report, arguments_.file, render(made, page_), page_);
  if (next_.empty() && leads_on) {
    const std::string& file = arguments_.next_file.empty() ? arguments_.file : arguments_.next_file;
    next_ = next_command(is_trace(file) ? "trace" : "report", typed_or(arguments_, file), page_);
  }
}

// The text of several reports, with what comes before and behind it.
std::string Showing::text_of_several(const std::string& text) const {
  const std::string summed = arguments_.has_summary && !text.empty()
                                 ? summary_.text(typed_or(arguments_, "FILE..."), page_)
                                 : "";
  const std::string opening = arguments_.opening ? arguments_.opening(page_) : "";
  const std::string gap = opening.empty() || text.empty() ? "" : "\n";
  const bool has_next = !text.empty() && !arguments_.next.empty();
  return render(filter_head(arguments_, page_), page_) + summed + opening + gap + text +
         (has_next ? next_ : "");
}

int Showing::end(int status) {
  status = std::max(status, status_);
  if (shown_.is_empty()) {
    filtering_.say_lacking();
    return kBadInput;
  }
  const Listing& listing = arguments_.listing;
  if (listing.csv) return std::max(status, shown_.end_csv());
  const std::string text = shown_.text();
  const bool is_whole = listing.json || !are_several_;
  return std::max(status, publish(listing, is_whole ? text : text_of_several(text)));
}

}  // namespace

int show(OneReport& arguments, const Makers& make, const OpenReport& open_one) {
  settle_rows(arguments.listing);
  arguments.listing.rows().refuse_unless(arguments.columns);
  std::vector<std::string> paths = report_files(arguments.files, say);
  tell_newer(arguments.files, paths, say);
  if (paths.size() > 1) arguments.keep(paths, say);
  int status = paths.empty() ? kBadInput : kFine;
  OpenReport open = open_one;
  if (arguments.together && add_up(arguments, paths)) return arguments.together(paths);
  if (arguments.is_together_asked && !paths.empty()) {
    return refuse(
        "--ranks lays processes of reports over each other; it does not go with --each, "
        "with traces, or with a filter that only a trace can answer");
  }
  if (add_up(arguments, paths)) {
    open = [&arguments, &status, parts = std::move(paths)](std::string&) {
      MergedReadable all = open_readable(parts, arguments.reading);
      if (all.failed != 0) status = kBadInput;
      return std::move(all.report);
    };
    paths = {typed_or(arguments, "FILE...")};
  }
  Showing showing(arguments, make, paths.size());
  for (const std::string& path : paths) {
    if (!showing.add(path, open)) return showing.status();
  }
  return showing.end(status);
}

}  // namespace vramscope
