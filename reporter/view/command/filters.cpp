// The options by which every listing leaves out what it is not to be about.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "interpose/settings/options.h"
#include "reporter/view/analysis/filter/instant.h"
#include "reporter/view/analysis/replay/trace_details.h"
#include "reporter/view/analysis/replay/trace_report.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/thread_names.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/text/filter_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

std::string no_bytes(const std::string& given) {
  Bytes bytes;
  if (read(given, bytes)) return "";
  return "'" + given + "' is not a number of bytes such as 64KiB" + unit_meant(given);
}

// Behind the sentence of an option that a report cannot answer, or not always.
std::string remark(Answers answer, std::string_view option) {
  if (answer == Answers::of_traces) return "; traces only";
  if (answer == Answers::by_thread) return "; traces only, or with --by thread";
  if (answer != Answers::by_axis) return "";
  return "; traces only, or with --by " + std::string(option.substr(2));
}

// What --min-bytes is about: a trace is filtered by its single allocations.
const char* least_bytes_help(const FilterUse& use) {
  if (use.inputs == Inputs::traces) return "Select allocations of at least BYTES";
  if (use.subject == Subject::segments)
    return "Select segments with a block of at least BYTES requested";
  if (use.subject == Subject::refusals) return "Select requests of at least BYTES";
  if (use.subject == Subject::calls) return "Select calls for at least BYTES";
  return use.inputs == Inputs::both ? "Select rows (in a trace: blocks) of at least BYTES"
                                    : "Select rows of at least BYTES";
}

std::string no_pattern(const std::string& given) { return Pattern(given).problem(); }

}  // namespace

void add_function_filter(Command& command, Filter& filter, const std::string& needs) {
  command.option("--function", &filter.function, "Select driver functions by REGEX" + needs,
                 {.value_name = "REGEX", .why_not = no_pattern, .group = "Filters"});
}

void add_filters(Command& command, Filter& filter, const FilterUse& use) {
  const std::string group = "Filters";
  // One that is never answered is read, to say what would answer it.
  const auto option = [&](const char* name, Value value, const char* help, const char* value_name,
                          WhyNot why_not) {
    const Answers answer = answers(use, name);
    command.option(name, value, std::string(help) + remark(answer, name),
                   {.value_name = value_name,
                    .why_not = std::move(why_not),
                    .group = group,
                    .is_hidden = answer == Answers::never});
  };
  const auto add = [&](std::string Filter::*typed, const char* help, const char* value_name,
                       WhyNot why_not = {}) {
    option(filter_option(typed), &(filter.*typed), help, value_name, std::move(why_not));
  };
  option("--device", &filter.device, "Select the memory of device N", "N", not_a_count);
  add(&Filter::kind, "Select a kind of memory: device, pinned, managed, ...", "KIND", not_a_kind);
  add(&Filter::owner, "Select the memory of OWNER; vramscope owners lists the names", "OWNER");
  add(&Filter::thread, "Select a thread by name, number or start function", "THREAD");
  add(&Filter::stream, "Select a stream; vramscope owners --by stream lists the names", "STREAM");
  add(&Filter::range, "Select an NVTX range by name or path; none: outside all ranges", "RANGE");
  add(&Filter::site, "Select call stacks by REGEX in function, file or library", "REGEX",
      no_pattern);
  if (use.subject == Subject::calls) add_function_filter(command, filter, ", such as cuMemAlloc");
  add(&Filter::min_bytes, least_bytes_help(use), "BYTES", no_bytes);
  add(&Filter::from, "Start at TIME after the first call, such as 1.5s", "TIME", not_an_instant);
  // Options are read in this order: what --from was given is there.
  const auto not_after = [&filter](const std::string& given) {
    std::string problem = not_an_instant(given);
    const std::optional<std::uint64_t> from = read_instant(filter.from);
    if (problem.empty() && from && *read_instant(given) < *from)
      problem = given + " is not after --from " + filter.from;
    return problem;
  };
  add(&Filter::to, "End at TIME after the first call", "TIME", not_after);
}

Filtering::Result Filtering::apply(Report& report, const std::string& path) {
  if (filter_.is_empty()) return Result::done;
  if (!cannot_filter(filter_, use_).empty()) {
    const std::vector<std::string> traces = trace_files(path, report.trace);
    say(cannot_filter(filter_, use_, traces.empty() ? "" : traces.front()));
    return Result::refused;
  }
  Filter filter = filter_;
  const NameFrame name = names_from_symbols();
  const ThreadNames threads(report, name);
  name_threads(filter, report, threads);
  const std::string missing = missing_from(
      report, filter, [&](const std::string& thread) { return threads.in_message(thread); });
  if (!missing.empty()) {
    if (lacking_.empty()) lacking_ = "'" + path + "' " + missing;
    return Result::lacks;
  }
  filter_report(report, filter, use_, filter.site.empty() ? NameFrame() : name);
  return Result::done;
}

bool Filtering::applies(Report& report, const std::string& path) {
  const Result result = apply(report, path);
  if (result == Result::lacks) say_lacking();
  return result == Result::done;
}

bool Filtering::applies_to_both(Named before, Named after) {
  using enum Result;
  const Result first = apply(before.report, before.path);
  const Result second = first == refused ? refused : apply(after.report, after.path);
  if (first == lacks && second == lacks) say_lacking();
  if (second == refused || (first == lacks && second == lacks)) return false;
  if (first == lacks) filter_report(before.report, filter_, use_, names_from_symbols());
  if (second == lacks) filter_report(after.report, filter_, use_, names_from_symbols());
  return true;
}

void Filtering::say_lacking() const {
  if (!lacking_.empty()) say(lacking_);
}

bool takes_its_trace(const Filter& filter, const FilterUse& use, const Report& report,
                     std::string& path) {
  if (use.inputs != Inputs::both || cannot_filter(filter, use).empty()) return false;
  const std::string trace = whole_trace_of(path, report);
  if (trace.empty()) return false;
  say("'" + path + "' cannot answer " + filter_text(filter) + "; this answer is from its trace, " +
      shell_word(trace));
  path = trace;
  return true;
}

std::optional<Report> open_traced(const std::string& path, const Filter& filter,
                                  const Reading& reading) {
  std::optional<Report> made;
  const auto use = [&](TraceFollower& trace) { made = detailed_report(trace, filter); };
  if (!follow_trace(path, reading, filter, FollowedTimes::of_filter, use)) return std::nullopt;
  return made;
}

Document filter_head(const Filter& filter) {
  Document head;
  if (!filter.is_empty()) head.line("Only " + filter_text(filter), "", Colour::dim);
  return head;
}

Document traced_filter_head(const Filter& filter, const std::string& path, const Page& page) {
  if (filter.from.empty() && filter.to.empty()) return filter_head(filter);
  Document head;
  head.sentence("Only " + filter_text(filter) +
                    ": what was allocated then; all that was held then: vramscope timeline " +
                    filters_for("timeline", page) + shell_path(path, page),
                {}, Colour::dim);
  return head;
}

Document filter_head(const OneReport& arguments, const Page& page) {
  const bool is_of_rows = page.of_trace && arguments.use.subject == Subject::rows;
  // Not one of a folder's; or the trace of the report that was named.
  const bool is_one = arguments.files.size() == 1 &&
                      (arguments.files.front() == arguments.file || is_trace(arguments.file));
  const std::string path = is_one ? arguments.file : "FILE";
  return is_of_rows ? traced_filter_head(arguments.filter, path, page)
                    : filter_head(arguments.filter);
}

bool nothing_passes(const OneReport& arguments, const Report& report, const Document& text) {
  const Subject subject = arguments.use.subject;
  if (arguments.filter.is_empty() || subject == Subject::refusals) return false;
  if (text.shows_nothing()) return true;
  const auto is_empty = [](const KindFacts& kind) {
    return kind.allocations == 0 && kind.peak_bytes == 0;
  };
  return subject == Subject::rows &&
         std::all_of(report.kinds.begin(), report.kinds.end(), is_empty);
}

}  // namespace vramscope
