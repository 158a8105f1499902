// vramscope trace: what the file that run --trace wrote comes to, or its events one by one.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "reporter/report/traces/trace_input.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/replay/trace_follower.h"
#include "reporter/view/command/inputs.h"
#include "reporter/view/command/trace.h"
#include "reporter/view/system/output.h"
#include "reporter/view/text/trace_text.h"

namespace vramscope {
namespace {

int refuse(const std::string& file, const std::string& problem) {
  if (is_folder(file)) {
    say("'" + file + "' is a folder: expected one trace");
  } else {
    say("cannot read '" + file + "': " + problem);
  }
  return kBadInput;
}

int lacks(const std::string& file, const std::string& what) {
  say("'" + file + "' " + what);
  return kBadInput;
}

int list(const TraceArguments& arguments, TraceFollower& trace) {
  Output lines(arguments.listing.output);
  CsvText csv(lines.text());
  csv.titles(trace_csv_titles());
  std::size_t left = arguments.listing.typed_most.value_or(0);  // rows to come; 0: all
  const bool has_end = left != 0;
  const bool read = trace.list([&](const FollowedEvent& now) {
    if (!now.passes || (has_end && left == 0)) return;
    left -= has_end ? 1 : 0;
    add_trace_csv(csv, now.one, trace.names());
    lines.flush_if_long();
  });
  const std::string problem = lines.end();
  if (!problem.empty()) say(problem);
  const std::string none = ends_before(trace.length_ns(), trace.filter().from_ns, "--from");
  if (read && problem.empty() && !none.empty()) return lacks(arguments.file, none);
  return read ? (problem.empty() ? kFine : kBadInput) : refuse(arguments.file, trace.problem());
}

// --sort is about places; --csv, which lists events, has columns of its own.
std::string no_place_column(const std::string& sort) {
  const std::string name = sort.substr(sort.starts_with('+') || sort.starts_with('-') ? 1 : 0);
  const std::vector<std::string> of_events = trace_csv_titles();
  if (std::find(of_events.begin(), of_events.end(), name) == of_events.end()) return "";
  for (const std::vector<std::string>& table : trace_columns())
    if (std::find(table.begin(), table.end(), name) != table.end()) return "";
  return "--sort: '" + name +
         "' is a column of trace --csv, which lists events in the order of "
         "their ends; trace sorts its rows, by total_bytes and the like";
}

}  // namespace

static void note_begin(const TraceReader& reader, TraceListing& listing) {
  if (reader.begin() == nullptr) return;
  listing.begun_ns = reader.begin()->at_ns;
  for (const TraceEvent& one : reader.live_before()) {
    ++listing.before_count;
    if (holds_memory(one.event.place.kind)) listing.before_bytes += one.event.bytes;
  }
}

int show_trace(TraceArguments& arguments) {
  settle_rows(arguments.listing);
  if (arguments.listing.csv && !arguments.listing.sort.empty()) {
    say("trace --csv lists events in the order of their ends: sort what it prints, or leave --sort "
        "out");
    return kBadInput;
  }
  if (const std::string problem = no_place_column(arguments.listing.sort); !problem.empty()) {
    say(problem);
    return kBadInput;
  }
  arguments.listing.rows().refuse_unless(trace_columns());
  using Damage = TraceReader::Damage;
  const TraceInput input(arguments.file);
  const bool whole = input.problem().empty() || (arguments.partial && !input.bytes().empty());
  if (!whole) return refuse(arguments.file, input.problem());
  TraceReader reader(input.bytes(), arguments.partial ? Damage::left_out : Damage::refused);
  if (!reader.problem().empty()) return refuse(arguments.file, reader.problem());
  const std::string remark = take_in(reader, input.is_own(), arguments.file, arguments.reading);
  if (!remark.empty()) say(remark);
  if (!reader.is_complete() && reader.names().process.pid == 0 && reader.events() == 0) {
    return refuse(arguments.file,
                  "none of its " + bytes_text(input.bytes().size()) + " can be read");
  }
  const NameFrame name = names_from_symbols(arguments.stacks.shown);
  TraceFollower trace(reader, arguments.filter,
                      arguments.listing.csv ? names_from_symbols() : name);
  if (!trace.missing().empty()) return lacks(arguments.file, trace.missing());
  if (arguments.listing.csv) return list(arguments, trace);
  TraceTotals totals;
  if (!trace.follow({&totals})) {
    return trace.missing().empty() ? refuse(arguments.file, trace.problem())
                                   : lacks(arguments.file, trace.missing());
  }
  totals.finish();
  TraceListing listing{.followed = trace,
                       .totals = totals,
                       .file_bytes = input.file_bytes(),
                       .bytes = input.bytes().size(),
                       .lost = reader.lost(),
                       .damaged = reader.damaged(),
                       .complete = reader.is_complete(),
                       .all_events = arguments.filter.is_empty() ? 0 : reader.events(),
                       .stacks = arguments.stacks};
  note_begin(reader, listing);
  const Listing& how = arguments.listing;
  if (how.json) return publish(how, trace_json(listing, name, how.rows()));
  Page page = page_of(how);
  page.stacks = arguments.stacks.shown;
  page.filters = typed_options(arguments.filter);
  Document text = traced_filter_head(arguments.filter, arguments.file, page);
  text.append(trace_text(listing, name, page, how.rows()));
  if (totals.events != 0) text.next("trace --csv", arguments.file);
  return publish(how, render(text, page));
}

Verb add_trace(CommandLine& line) {
  auto arguments = std::make_shared<TraceArguments>();
  Command& command = line.add_verb("trace", "Summarize or list the events of a trace");
  command.positional("FILE", &arguments->file, "A trace, plain or compressed with zstd");
  add_listing_options(command, arguments->listing);
  add_layout_options(command, arguments->stacks);
  add_filters(command, arguments->filter, {.inputs = Inputs::traces});
  add_view_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  command.flag("--partial", arguments->partial,
               "Skip damaged or missing parts instead of giving up");
  command.footer(
      "Examples:\n"
      "  vramscope run --trace train.%p.trace ./train\n"
      "  vramscope trace train.4711.trace             totals, as in the report\n"
      "  vramscope trace --csv train.4711.trace.zst   every event");
  return {.command = &command, .act = [arguments] { return show_trace(*arguments); }};
}

}  // namespace vramscope
