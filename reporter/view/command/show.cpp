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
  if (!arguments.adds_up || arguments.each || paths.size() < 2) return false;
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

int show(OneReport& arguments, const Makers& make, const OpenReport& open_one) {
  settle_rows(arguments.listing);
  const Listing& listing = arguments.listing;
  listing.rows().refuse_unless(arguments.columns);
  std::vector<std::string> paths = report_files(arguments.files, say);
  tell_newer(arguments.files, paths, say);
  if (paths.size() > 1) arguments.keep(paths, say);
  int status = paths.empty() ? kBadInput : kFine;
  OpenReport open = open_one;
  if (add_up(arguments, paths)) {
    open = [&arguments, &status, parts = std::move(paths)](std::string&) {
      MergedReadable all = open_readable(parts, arguments.reading);
      if (all.failed != 0) status = kBadInput;
      return std::move(all.report);
    };
    paths = {typed_or(arguments, "FILE...")};
  }
  Page page = page_of(listing);
  page.stacks = arguments.stacks.shown;
  page.filters = options_for_next(arguments.filter, arguments.use);
  arguments.is_one_of_several = paths.size() > 1;
  Several shown(listing, paths.size() > 1);
  ReportsSummary summary;
  std::string next;
  Filtering filtering(arguments.filter, arguments.use);
  for (const std::string& path : paths) {
    arguments.file = path;
    arguments.next_file.clear();
    arguments.is_trace = false;
    std::optional<Report> report = open(arguments.file);
    if (!report) {
      status = kBadInput;
      continue;
    }
    const Filtering::Result result =
        arguments.is_trace ? Filtering::Result::done : filtering.apply(*report, arguments.file);
    if (result == Filtering::Result::refused) {
      status = kBadInput;
      if (shown.is_empty()) return status;
      continue;  // others had a trace that answered
    }
    if (result == Filtering::Result::lacks) continue;
    choose_frames(*report, arguments.stacks);
    if (arguments.prepare) arguments.prepare(*report);
    if (!arguments.is_trace) {  // of a trace single allocations pass
      leave_out_small_rows(*report, arguments.filter, arguments.use,
                           arguments.row_of ? arguments.row_of(*report) : RowOfSite());
    }
    page.of_trace = arguments.is_trace;
    summary.add(*report);
    if (listing.json || listing.csv) {
      shown.add_data(*report, arguments.file, make);
      continue;
    }
    const Document made = make.text(*report, page);
    const bool leads_on = !made.is_empty() && !nothing_passes(arguments, *report, made);
    if (paths.size() == 1) {
      Document whole(filter_head(arguments, page));
      whole.append(made);
      if (leads_on) add_next(whole, arguments, *report);
      shown.add_text(*report, arguments.file, on_page(arguments, whole, page), page);
      continue;
    }
    shown.add_text(*report, arguments.file, render(made, page), page);
    if (next.empty() && leads_on) {
      const std::string& file = arguments.next_file.empty() ? arguments.file : arguments.next_file;
      next = next_command("report", typed_or(arguments, file), page);
    }
  }
  if (shown.is_empty()) {
    filtering.say_lacking();
    return kBadInput;
  }
  if (listing.csv) return std::max(status, shown.end_csv());
  std::string text = shown.text();
  if (listing.json || paths.size() == 1) return std::max(status, publish(listing, text));
  const std::string summed = arguments.has_summary && !text.empty()
                                 ? summary.text(typed_or(arguments, "FILE..."), page)
                                 : "";
  const std::string opening = arguments.opening ? arguments.opening(page) : "";
  const std::string gap = opening.empty() || text.empty() ? "" : "\n";
  if (text.empty() || arguments.next.empty()) next.clear();
  text = filter_head(arguments, page) + summed + opening + gap + text + next;
  return std::max(status, publish(listing, text));
}

}  // namespace vramscope
