// What the verbs share: complaints, listings, showing reports.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/verb.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "reporter/report/report.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/newer.h"
#include "reporter/view/import/imports.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/reports_text.h"

namespace vramscope {
namespace {

// Nowhere is left to complain that it failed.
void complain(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Rows are written as they are made: there may be more than memory has room for.
class CsvOutput {
 public:
  explicit CsvOutput(const Listing& listing)
      : output_(listing.output, readers_of(listing.shared)),
        csv_(output_.text(), [this] { output_.flush_if_long(); }) {}
  CsvText& csv() { return csv_; }
  int end() {
    const std::string problem = output_.end();
    if (!problem.empty()) say(problem);
    return problem.empty() ? kFine : kBadInput;
  }

 private:
  Output output_;
  CsvText csv_;
};

// What was made of one report or of several.
class Several {
 public:
  Several(const Listing& listing, bool are_several) : listing_(listing), are_several_(are_several) {
    if (are_several_) json_.array();
  }

  // Gives what was made of this one, as a person or a program reads it alone.
  std::string add(const Report& report, const std::string& path, const Makers& make,
                  const Page& page) {
    is_empty_ = false;
    if (listing_.csv) {
      if (!csv_) csv_.emplace(listing_);  // not before there is a report
      csv_->csv().lead(leading_cells(report, path));
      make.csv(report, csv_->csv());
      return "";
    }
    std::string one = listing_.json ? make.json(report) : make.text(report, page);
    if (are_several_ && listing_.json) {
      json_.object();
      which_report(json_, report, path);
      json_.key("listing").json(one).end();
    } else if (!are_several_ || !one.empty()) {
      const std::string before = text_.empty() ? "" : "\n";
      if (are_several_) text_ += before + heading_text(report, path, page) + "\n";
      text_ += one;
    }
    return one;
  }
  [[nodiscard]] bool is_empty() const { return is_empty_; }
  // Of CSV: gives the exit code.
  int end_csv() { return csv_ ? csv_->end() : kBadInput; }
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

std::string not_a_count(const std::string& given) {
  constexpr std::size_t kMostDigits = 9;  // of any count that makes sense
  const bool good = !given.empty() && given.size() <= kMostDigits &&
                    given.find_first_not_of("0123456789") == std::string::npos;
  return good ? "" : "'" + given + "' is not a whole number from 0 to 999999999";
}

void say(std::string_view line) {
  std::string text = "vramscope: ";
  text += harmless(line);  // it may name what somebody else has named
  text += '\n';
  complain(text);
}

int refuse(std::string_view line) {
  say(line);
  return kBadInput;
}

void add_listing_options(Command& command, Listing& listing) {
  command.flag("--json", listing.json, "Exact numbers as JSON instead of text");
  const std::string usual = listing.most == 0 ? "" : "; as text " + std::to_string(listing.most);
  command.flag("--csv", listing.csv, "The rows as comma-separated values, with a line of titles");
  command.exclude("--csv", "--json");
  command.option("--sort", &listing.sort,
                 "Order by COLUMN, as --csv names it; numbers from the largest down unless +COLUMN",
                 {.value_name = "COLUMN"});
  command.option("-n", &listing.typed_most, "At most N rows, 0 for all" + usual,
                 {.value_name = "N", .why_not = not_a_count});
  command.option("-o,--output", &listing.output, "Write to FILE instead of standard output",
                 {.value_name = "FILE"});
  add_force(command, listing.forced);
  add_share(command, listing.shared);
  command.flag("--wide", listing.wide, "Cut no line at the width of the terminal or of COLUMNS");
}

void add_force(Command& command, bool& forced) {
  command.flag("-f,--force", forced, "-o replaces a file that is there");
}

void add_share(Command& command, bool& shared) {
  command.flag(
      "--share", shared,
      "Let others read a new file that -o makes, as the umask has it, not its owner alone");
}

Readers readers_of(bool shared) { return shared ? Readers::others : Readers::owner; }

void settle_rows(Listing& listing) {
  if (listing.typed_most) {
    listing.most = *listing.typed_most;
  } else if (listing.json || listing.csv) {
    listing.most = 0;
  }
}

int publish(const Listing& listing, std::string_view text) {
  // It took a while to make: another program may have made the file meanwhile.
  const Overwriting overwriting = listing.forced ? Overwriting::forced : Overwriting::asked_for;
  const std::string lost = lost_by(listing.output, {}, overwriting);
  if (!lost.empty()) return refuse("-o " + lost);
  Output output(listing.output, readers_of(listing.shared));
  output << text;
  const std::string problem = output.end();
  return problem.empty() ? kFine : refuse(problem);
}

int publish_csv(const Listing& listing, const std::function<void(CsvText&)>& make) {
  CsvOutput output(listing);
  make(output.csv());
  return output.end();
}

void add_view_options(Command& command, StackChoice& choice) {
  const auto sets = [&choice](StackView view) { return [&choice, view] { choice.view = view; }; };
  command.flag("--with-native", sets(StackView::with_native),
               "Native frames between those of Python, but not the interpreter's and ctypes's");
  command.flag("--python-only", sets(StackView::python_only), "Frames of Python alone");
  command.flag("--native-only", sets(StackView::native_only),
               "Native frames alone, the interpreter's too");
  command.exclude("--with-native", "--python-only");
  command.exclude("--with-native", "--native-only");
  command.exclude("--python-only", "--native-only");
}

void add_full_option(Command& command, StackChoice& choice) {
  command.flag(
      "--full", [&choice] { choice.shown = Stacks::in_full; },
      "Whole call stacks, with types, paths and lines");
}

void add_layout_options(Command& command, StackChoice& choice) {
  add_full_option(command, choice);
  command.flag(
      "--tree", [&choice] { choice.shown = Stacks::as_tree; },
      "Call stacks as one tree, from the start down");
  command.exclude("--full", "--tree");
  command.exclude("--tree", "--sort");  // a tree has an order of its own
}

void add_one_report(Command& command, OneReport& arguments, std::size_t most) {
  arguments.listing.most = most;
  const bool takes_traces = arguments.use.inputs == Inputs::both;
  command.positional("FILE", &arguments.files, takes_traces ? kTracesHelp : kReportsHelp);
  add_listing_options(command, arguments.listing);
}

std::optional<Suppressions> open_suppressions(const std::vector<std::string>& files,
                                              bool no_usual) {
  Suppressions suppressions;
  for (const std::string& file : files) {
    const std::string problem = suppressions.add_file(file);
    if (problem.empty()) continue;
    say(problem);
    return std::nullopt;
  }
  if (!no_usual) suppressions.add_usual();
  return suppressions;
}

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

// What was typed for the reports where that was one word, a folder or a pattern.
const std::string& typed_or(const OneReport& arguments, const std::string& other) {
  return arguments.files.size() == 1 ? arguments.files.front() : other;
}

}  // namespace

int show(OneReport& arguments, const Makers& make, const OpenReport& open) {
  settle_rows(arguments.listing);
  const Listing& listing = arguments.listing;
  listing.rows().refuse_unless(arguments.columns);
  std::vector<std::string> paths = report_files(arguments.files, say);
  tell_newer(arguments.files, paths, say);
  if (paths.size() > 1) arguments.keep(paths, say);
  Page page = page_of(listing);
  page.stacks = arguments.stacks.shown;
  page.filters = options_for_next(arguments.filter, arguments.use);
  arguments.is_one_of_several = paths.size() > 1;
  Several shown(listing, paths.size() > 1);
  const bool fits = arguments.fits_screen && paths.size() == 1;
  const Makers made_to_fit = fits ? fitting_makers(arguments, make) : make;
  ReportsSummary summary;
  std::string next;
  int status = paths.empty() ? kBadInput : kFine;
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
    page.of_trace = arguments.is_trace;
    summary.add(*report);
    const std::string one = shown.add(*report, arguments.file, made_to_fit, page);
    if (next.empty() && !one.empty() && !nothing_passes(arguments, *report, one)) {
      const bool has_nothing =
          !arguments.is_trace && report->kinds.empty() && report->oom.count == 0;
      const std::string closer = has_nothing ? "stats" : arguments.next;
      const std::string& file = arguments.next_file.empty() ? arguments.file : arguments.next_file;
      next = paths.size() > 1 ? next_command("report", typed_or(arguments, file), page)
                              : next_command(closer, file, page);
    }
  }
  if (shown.is_empty()) {
    filtering.say_lacking();
    return kBadInput;
  }
  if (listing.csv) return std::max(status, shown.end_csv());
  std::string made = shown.text();
  const bool has_summary = arguments.has_summary && !listing.json && !made.empty();
  if (paths.size() > 1 && !listing.json && arguments.opening) {
    const std::string opening = arguments.opening(page);
    made.insert(0, opening + (opening.empty() || made.empty() ? "" : "\n"));
  }
  if (has_summary) {
    made.insert(0, summary.text(typed_or(arguments, "FILE..."), page));
  }
  if (listing.json || made.empty() || arguments.next.empty()) next.clear();
  if (!listing.json) made.insert(0, filter_head(arguments, page));
  return std::max(status, publish(listing, made + next));
}

}  // namespace vramscope
