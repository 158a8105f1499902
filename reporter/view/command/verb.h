// Verb is a subcommand of the tool. Here is also what the verbs share: exit codes, complaints, the
// arguments of listings and of what shows one report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/leaks/suppressions.h"
#include "reporter/view/analysis/stacks/stack_view.h"
#include "reporter/view/command/arguments.h"
#include "reporter/view/command/reading.h"
#include "reporter/view/command/repeated_processes.h"
#include "reporter/view/listing/cell_value.h"
#include "reporter/view/listing/csv_text.h"
#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/system/output.h"

namespace vramscope {

struct Report;
class TraceFollower;
class TraceReader;
enum class FollowedTimes : bool;

enum ExitCode : int {
  kFine = 0,
  kThreshold = 1,  // a threshold that was asked for is crossed
  kStops = 1,      // of doctor: something stops recording
  kBadInput = 2,   // bad usage, or a file that cannot be read or written
  // Of `run`, beside the program's own, as a shell has them.
  kOwnFailure = 125,
  kNotExecutable = 126,
  kNotFound = 127,
  kSignalled = 128,  // plus the signal's number
};

// A subcommand and what to do, once its arguments are parsed, when it was the one; gives the exit
// code.
struct Verb {
  Command* command = nullptr;
  std::function<int()> act = {};
  // When set: takes from the words behind the verb, before they are parsed, those that are not
  // ours.
  std::function<void(std::vector<std::string>& words)> take = {};
  bool judges_output = false;  // itself, of its -o; else lost_by() does
};

[[nodiscard]] Verb add_run(CommandLine& line);
[[nodiscard]] Verb add_recover(CommandLine& line);
[[nodiscard]] Verb add_snapshot(CommandLine& line);
[[nodiscard]] Verb add_attach(CommandLine& line);
[[nodiscard]] Verb add_detach(CommandLine& line);
[[nodiscard]] Verb add_list(CommandLine& line);
[[nodiscard]] Verb add_live(CommandLine& line);
[[nodiscard]] Verb add_serve(CommandLine& line);
[[nodiscard]] Verb add_ctl(CommandLine& line);
[[nodiscard]] Verb add_doctor(CommandLine& line);
[[nodiscard]] Verb add_report(CommandLine& line);
[[nodiscard]] Verb add_stats(CommandLine& line);
[[nodiscard]] Verb add_sites(CommandLine& line);
[[nodiscard]] Verb add_peak(CommandLine& line);
[[nodiscard]] Verb add_leaks(CommandLine& line);
[[nodiscard]] Verb add_oom(CommandLine& line);
[[nodiscard]] Verb add_calls(CommandLine& line);
[[nodiscard]] Verb add_map(CommandLine& line);
[[nodiscard]] Verb add_owners(CommandLine& line);
[[nodiscard]] Verb add_check(CommandLine& line);
[[nodiscard]] Verb add_advise(CommandLine& line);
[[nodiscard]] Verb add_merge(CommandLine& line);
[[nodiscard]] Verb add_symbols_verb(CommandLine& line);
[[nodiscard]] Verb add_diff(CommandLine& line);
[[nodiscard]] Verb add_timeline(CommandLine& line);
[[nodiscard]] Verb add_trace(CommandLine& line);
[[nodiscard]] Verb add_replay(CommandLine& line);
[[nodiscard]] Verb add_fit(CommandLine& line);
[[nodiscard]] Verb add_tune(CommandLine& line);
[[nodiscard]] Verb add_export(CommandLine& line);
[[nodiscard]] Verb add_html(CommandLine& line);
[[nodiscard]] Verb add_functions(CommandLine& line);
[[nodiscard]] Verb add_options(CommandLine& line);
[[nodiscard]] Verb add_completion(CommandLine& line);
[[nodiscard]] Verb add_manual(CommandLine& line);

// --sim-device, where --sim is.
void add_simulated_model(Command& command, std::string& model);

// Checks of an argument: "", or why it is none.
[[nodiscard]] std::string not_a_count(const std::string& given);

// One line on stderr, "vramscope: " before it.
void say(std::string_view line);
// Says it; kBadInput.
int refuse(std::string_view line);

// The options of every listing.
struct Listing {
  bool json = false;
  bool csv = false;
  std::size_t most = 0;   // rows; 0: all
  std::string sort = {};  // as typed; "": as the listing usually is
  std::optional<unsigned> typed_most = {};
  std::string output;   // file; "": standard output
  bool forced = false;  // it may replace a file
  bool shared = false;  // others may read it
  bool wide = false;    // nothing is cut

  [[nodiscard]] RowChoice rows() const { return {most, sort}; }
};
void add_listing_options(Command& command, Listing& listing);

// -f, --force: -o replaces a file that is there. Every verb with -o has it, but `run`.
void add_force(Command& command, bool& forced);
// --share: others may read what -o makes. Every verb has it whose -o makes no report.
void add_share(Command& command, bool& shared);
[[nodiscard]] Readers readers_of(bool shared);

// Once the words are read: as many rows as -n says; else all as JSON, and as text the usual number.
void settle_rows(Listing& listing);

// The same rows as CSV; gives the exit code.
[[nodiscard]] int publish_csv(const Listing& listing, const std::function<void(CsvText&)>& make);

// Where the listing goes. COLUMNS says how wide it is, else the terminal; without both, and with
// --wide, nothing is cut. Colours only on a terminal, and lines that it has, unless -n or --wide
// was typed.
[[nodiscard]] Page page_of(const Listing& listing);

// Columns that help may take: those of a listing, but not more than are easily read.
[[nodiscard]] std::size_t help_width();

// Writes the text to where the listing goes; gives the exit code.
[[nodiscard]] int publish(const Listing& listing, std::string_view text);

// The report in a file; says why not. Of a live file it is recovered first: then `path` becomes the
// report's, and that is said.
[[nodiscard]] std::optional<Report> open_report(std::string& path, const Reading& reading);

// Says that a verb which needs reports was given a trace, and which command tells of one what it
// would: words behind "vramscope".
void say_no_report(const std::string& trace, std::string_view command);

// What a trace lacks of what is asked for, and what is wrong with its file; "": nothing.
struct TraceTrouble {
  std::string missing = {};
  std::string problem = {};
};
[[nodiscard]] TraceTrouble trouble_of(const TraceFollower& trace);
// Has the trace in a file read by `use`, and says what trouble that met. False: some.
[[nodiscard]] bool read_trace(const std::string& path, const Reading& reading,
                              const std::function<TraceTrouble(TraceReader&)>& use);

// Has the trace in a file followed by `use`; says what it lacks, or what is wrong with it. False:
// something is.
[[nodiscard]] bool follow_trace(const std::string& path, const Reading& reading,
                                const Filter& filter, FollowedTimes times,
                                const std::function<void(TraceFollower&)>& use);

// What suppression files name, beside what the usual libraries keep unless `no_usual`; says why
// not.
[[nodiscard]] std::optional<Suppressions> open_suppressions(const std::vector<std::string>& files,
                                                            bool no_usual);

// --with-native, --python-only and --native-only.
void add_view_options(Command& command, StackChoice& choice);

// --full alone, and with --tree.
void add_full_option(Command& command, StackChoice& choice);
void add_layout_options(Command& command, StackChoice& choice);

// Of the words that name reports.
inline constexpr const char* kReportsHelp = "Reports, folders of reports, or patterns";
inline constexpr const char* kTracesHelp = "Reports, traces, folders of reports, or patterns";

// What verbs have that show one report; of several what they are together, or each in turn.
struct OneReport {
  std::vector<std::string> files;  // as typed: reports, folders, patterns
  std::string file = {};           // that is being shown
  StackChoice stacks;
  Listing listing;
  std::string next;  // words of the command that a text ends with: "peak --tree"; "": none
  std::string next_file = {};                          // what it is of, where that is not `file`
  std::vector<std::vector<std::string>> columns = {};  // of its tables, for --sort
  Reading reading = {};
  Filter filter;
  FilterUse use;
  // Of several: which are shown.
  void (*keep)(std::vector<std::string>& paths,
               const std::function<void(std::string_view)>& tell) = drop_repeated_processes;
  // Above the texts of several reports: what is to be said of those that have none; "": nothing.
  std::function<std::string(const Page&)> opening = {};
  bool adds_up = false;  // several reports, all of one kind, become one that has them all
  bool each = false;     // --each: they do not
  // Of verbs that show processes beside each other, not their sum: shows them all, gives the exit
  // code. is_together_asked: also of one report.
  std::function<int(const std::vector<std::string>& paths)> together = {};
  bool is_together_asked = false;
  bool has_summary = true;         // of several reports: how many, their peaks
  bool is_one_of_several = false;  // what is being shown
  bool is_trace = false;     // what is being shown was made of a trace, by those that pass already
  bool fits_screen = false;  // of one report: fewer rows on a terminal that has no room for them
  std::size_t said_columns = 0;               // of a line on stderr that stands above the text
  std::function<void(Report&)> prepare = {};  // each, once it is filtered and its frames are chosen
  // The rows that sites stand in, of sums of several; none: each has its own.
  std::function<RowOfSite(const Report&)> row_of = {};
};
// use.inputs is set. --each, of verbs whose `adds_up` is set.
void add_one_report(Command& command, OneReport& arguments, std::size_t most);

// --device, --kind, --owner, --thread, --stream, --range, --site, --min-bytes, --from, --to: help
// lists those that can be answered. Of calls --function, too.
void add_filters(Command& command, Filter& filter, const FilterUse& use);
// `needs` stands behind the help: "; with --by call".
void add_function_filter(Command& command, Filter& filter, const std::string& needs);

// Whether the report's own trace is there and tells of rows what the report cannot, of which a line
// is said then; it takes the report's place in `path`.
[[nodiscard]] bool takes_its_trace(const Filter& filter, const FilterUse& use, const Report& report,
                                   std::string& path);

// The report that a trace becomes, of what passes; says why not. See detailed_report().
[[nodiscard]] std::optional<Report> open_traced(const std::string& path, const Filter& filter,
                                                const Reading& reading);

// Leaves in one report after the other what passes a filter. What refers to the filter lives as
// long as this. Threads: one.
class Filtering {
 public:
  Filtering(const Filter& filter, const FilterUse& use) : filter_(filter), use_(use) {}
  // lacks: the report has no such device, owner, thread, stream or range. refused: reports cannot
  // tell, which was said.
  enum class Result : std::uint8_t { done, lacks, refused };
  [[nodiscard]] Result apply(Report& report, const std::string& path);
  // The same for the only report, or the first: that it lacks something is said.
  [[nodiscard]] bool applies(Report& report, const std::string& path);
  // The same for two that are compared: what one of them lacks may have come or gone.
  struct Named {
    Report& report;
    const std::string& path;
  };
  [[nodiscard]] bool applies_to_both(Named before, Named after);
  // Says what the first report lacks that lacked something.
  void say_lacking() const;

 private:
  const Filter& filter_;
  const FilterUse& use_;
  std::string lacking_;
};

// "Only --kind pinned", above a text that a filter made; nothing without one.
[[nodiscard]] Document filter_head(const Filter& filter);
// The same of rows of a trace in `path`: of times it says which memory they choose, and what shows
// all that was held then.
[[nodiscard]] Document traced_filter_head(const Filter& filter, const std::string& path,
                                          const Page& page);
// That of the two which what was shown last needs; a single trace is named.
[[nodiscard]] Document filter_head(const OneReport& arguments, const Page& page);
// Whether the text, or the report that it was made of, says that a filter lets nothing pass: a
// closer look has nothing more. Of refusals that pass no filter there is more to say.
[[nodiscard]] bool nothing_passes(const OneReport& arguments, const Report& report,
                                  const Document& text);

// What a verb makes of a report, which outlives it.
using MakeText = std::function<Document(const Report&, const Page&)>;
using MakeJson = std::function<std::string(const Report&)>;
using MakeCsv = std::function<void(const Report&, CsvText&)>;
struct Makers {
  MakeText text;
  MakeJson json;
  MakeCsv csv;
};

}  // namespace vramscope
