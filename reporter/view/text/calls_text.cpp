// The program's calls of the driver.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/calls_text.h"

#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/free_calls.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/listing/thread_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

// What became of allocations and frees, as the timing of a device or of the host has it; of kinds
// that no cache serves their number alone.
struct ServedCalls {
  std::uint64_t ordinal = 0;
  std::string memory;  // for people: memory_name()
  bool is_of_device = false;
  std::string what;
  Duration time;
  std::optional<std::uint64_t> freed_nothing = {};  // of frees by the driver
  std::optional<Kind> uncached = {};                // the kind, of which no time is known
};

constexpr std::string_view kAllocUncached = "alloc_uncached";
constexpr std::string_view kFreeUncached = "free_uncached";

// "frees: 41 gave memory back, 1 had nothing to free".
std::string words_for_driver_frees(const ServedCalls& row) {
  if (!row.freed_nothing) return "frees by the driver";
  const std::uint64_t nothing = *row.freed_nothing;
  if (nothing == 0) return "frees that gave memory back";
  if (nothing == row.time.count) return "calls with nothing to free";
  return "frees: " + count_text(row.time.count - nothing) + " gave memory back, " +
         count_text(nothing) + " had nothing to free";
}

std::string served_words(const ServedCalls& row) {
  if (row.what == "alloc_hit") return "allocations from Vramscope's cache";
  if (row.what == "alloc_driver") return "allocations by the driver";
  if (row.what == "free_hit") return "frees whose memory the cache kept";
  if (row.what == "free_driver") return words_for_driver_frees(row);
  if (row.what == kAllocUncached) return "allocations by the driver that bypass the cache";
  if (row.what == kFreeUncached) return "frees by the driver that bypass the cache";
  return "waits for the GPU, before freed memory was used again";
}

// Kinds whose calls no timing has.
void add_uncached(std::vector<ServedCalls>& rows, const Report& report) {
  for (const KindFacts& kind : report.kinds) {
    const bool is_timed =
        kind.kind == Kind::device || kind.kind == Kind::pinned || kind.kind == Kind::registered;
    if (is_timed || !holds_memory(kind.kind)) continue;
    const auto add = [&](std::string_view what, std::uint64_t count) {
      if (count == 0) return;
      rows.push_back({.ordinal = kind.device,
                      .memory = memory_name(report, kind.kind, kind.device),
                      .is_of_device = has_device(kind.kind),
                      .what = std::string(what),
                      .time = {.count = count},
                      .uncached = kind.kind});
    };
    add(kAllocUncached, kind.allocations);
    add(kFreeUncached, kind.frees);
  }
}

// Of all calls together: none where a filter chose some.
std::vector<ServedCalls> served_rows(const Report& report) {
  std::vector<ServedCalls> rows;
  if (report.chosen) return rows;
  const auto add = [&](const Timing& timing, const FreeCalls& frees, const std::string& memory,
                       bool is_of_device, std::uint64_t ordinal) {
    Timing::visit(timing, [&](std::string_view part, const Duration& time) {
      if (time.count == 0) return;
      rows.push_back({ordinal, memory, is_of_device, std::string(part), time});
      if (part == "free_driver") rows.back().freed_nothing = frees.of_nothing;
    });
  };
  for (const DeviceReport& device : report.devices) {
    add(device.timing, free_calls(report, device), gpu_name(report, device.facts.index), true,
        device.facts.index);
  }
  add(report.host.timing, host_free_calls(report), "pinned, registered", false, 0);
  add_uncached(rows, report);
  return rows;
}

Columns<ServedCalls> served_columns() {
  using Row = ServedCalls;
  const auto of = within(&Row::time);
  const auto device = [](const Row& row) {
    return row.is_of_device ? std::optional(row.ordinal) : std::nullopt;
  };
  const auto timed = [](std::uint64_t Duration::*part) {
    return [part](const Row& row) {
      return row.uncached ? std::nullopt : std::optional(row.time.*part);
    };
  };
  return {{"device", "number of the GPU; `null`: host memory", device},
          {"what",
           "as the report's `timing` has it; `alloc_uncached`, `free_uncached`: of kinds that no "
           "cache serves",
           &Row::what},
          {"calls", "number of successful calls", of(&Duration::count), Titled("CALLS")},
          {"total_ns", "time in them; `null`: not known separately", timed(&Duration::total_ns),
           Titled("TIME")},
          {"max_ns", "time of the longest call; `null`: not known separately",
           timed(&Duration::max_ns), Titled("LONGEST")},
          {"memory",
           "by its name in text output: `GPU 0 physical`; `pinned, registered`: both together",
           &Row::memory, Titled("MEMORY")},
          {"freed_nothing",
           "in the row of frees by the driver: calls that had nothing to free, such as "
           "cudaFree(nullptr); `null`: not known, or another row",
           &Row::freed_nothing},
          {{"HOW THEY WERE SERVED"}, served_words}};
}

void add_served(Document& text, const CallsOf& of, const Page& page) {
  if (of.is_of_trace || of.by != CallsBy::function) return;
  const std::vector<ServedCalls> rows = served_rows(of.report);
  if (rows.empty()) return;
  Table table = table_of(served_columns(), rows, page);
  table.place_last(Table::Last::wrapped);
  text.gap();
  text.heading("How allocations and frees that succeeded were served");
  text.table(std::move(table));
}

// ", summed over 62 threads"; of one thread a share of the run. A report does not tell which
// threads called a function, but which of them allocated.
std::string whose_time(const CallsOf& of) {
  const DriverCalls& calls = of.calls;
  if (is_of_several(of.report)) return ", summed over all processes";
  if (calls.are_all_threads && calls.threads == 1) {
    if (calls.run_ns == 0 || calls.total_ns > calls.run_ns) return "";
    return ", " + percent_text(calls.total_ns, calls.run_ns) + " of the run's " +
           duration_text(calls.run_ns);
  }
  const std::string count = count_text(calls.threads);
  std::string text = ", summed over " + (calls.are_all_threads ? count : "all") + " threads";
  if (!calls.are_all_threads && calls.threads > 1)
    text += " (" + count + " threads made allocations)";
  return calls.run_ns == 0 ? text : text + "; the run took " + duration_text(calls.run_ns);
}

// "2,024,804 calls to 14 driver functions (1 failed) took 10.9 s, summed over all threads; the run
// took 1.92 s".
std::string calls_head(const CallsOf& of) {
  const DriverCalls& calls = of.calls;
  const bool are_allocations = of.by == CallsBy::thread && !of.is_of_trace;
  std::string text = counted(calls.calls, are_allocations              ? "allocation"
                                          : of.by == CallsBy::function ? "call"
                                                                       : "driver call");
  if (of.by == CallsBy::function) text += " to " + counted(calls.rows.size(), "driver function");
  if (calls.failures != 0) text += " (" + count_text(calls.failures) + " failed)";
  return text + " took " + duration_text(calls.total_ns) + whose_time(of);
}

// A report has the waits of all functions together.
std::string calls_waits(const CallsOf& of) {
  if (!of.calls.waited_ns) return "";
  if (*of.calls.waited_ns != 0) {
    return duration_text(*of.calls.waited_ns) +
           " of this was spent waiting for the GPU before reusing freed memory";
  }
  return of.report.process.mode == "observe"
             ? "these times include the driver's own waits, which are not measured"
             : "no time was spent waiting for the GPU before reusing freed memory";
}

constexpr const char* kCallsLegend =
    "TIME: from call to return, including calls that the cache served. MEDIAN and 99 %: half of "
    "the calls, and 99 in 100, took at most this long, rounded up to a power of two, or to the "
    "longest call if that is less.";

const char* calls_remark(const CallsOf& of) {
  if (of.by == CallsBy::function || of.is_of_trace) return kCallsLegend;
  return "Only allocations: a report does not record the threads of other calls. A trace does: "
         "vramscope run --trace TRACE, then vramscope calls --by thread TRACE.";
}

bool is_recorded(const DriverCalls& calls, std::optional<std::uint64_t> DriverCall::*value) {
  for (const DriverCall& row : calls.rows)
    if (row.*value) return true;
  return false;
}

}  // namespace

Columns<DriverCall> call_columns(const CallsOf& of, const ThreadNames* threads, const Page& page) {
  using Row = DriverCall;
  const auto share = [total = of.calls.total_ns](const Row& row) {
    return percent_text(row.total_ns, total);
  };
  const bool is_by_function = of.by == CallsBy::function;
  const auto name = [=](const Row& row) {
    return is_by_function || threads == nullptr ? row.name
                                                : text_of_thread(*threads, row.name, page);
  };
  const std::string what = is_by_function ? "function" : "thread";
  Columns<Row> columns{
      {"name",
       "the driver's function, by its exported name; with `--by thread` the thread, as `owners "
       "--by "
       "thread` has it",
       &Row::name},
      {"total_ns", "time in its calls, summed over all threads", &Row::total_ns, Titled("TIME")},
      {{"SHARE", Table::Align::right, 3}, share},
      {"calls", "number of calls; of a report with `--by thread`, allocations only", &Row::calls,
       Titled("CALLS")},
      {"failures", "calls that failed; `null`: not recorded", &Row::failures, Titled("FAILED", 2)},
      {"median_ns",
       "half of the calls took at most this long, rounded up to a power of two, but at most the "
       "longest call; `null`: not recorded",
       &Row::median_ns, Titled("MEDIAN", 4)},
      {"p99_ns", "99 in 100 calls took at most this long, rounded likewise; `null`: not recorded",
       &Row::most_ns, Titled("99 %", 5)},
      {"max_ns", "the longest; `null`: not recorded", &Row::max_ns, Titled("LONGEST", 1)},
      {"waited_ns",
       "part of `total_ns` in which the library waited for the device before reusing memory; "
       "`null`: not recorded (reports never record it)",
       &Row::waited_ns, Titled("WAITED")}};
  columns.push_back({{in_capitals(what)}, name});
  return columns;
}

Columns<DriverCalls> calls_fields(const CallsOf& of, const RowChoice& choice) {
  using All = DriverCalls;
  const auto run = [](const All& all) {
    return all.run_ns == 0 ? std::nullopt : std::optional(all.run_ns);
  };
  return {
      {"by", "what each row stands for", [&of](const All&) { return of.by; }, OneOf(kCallsByNames)},
      {"calls", "of all rows", &All::calls},
      {"failures", "of all rows", &All::failures},
      {"total_ns", "time in these calls, summed over all threads", &All::total_ns},
      {"waited_ns",
       "part of it in which the library waited for the device before reusing memory; `null`: not "
       "recorded",
       &All::waited_ns},
      {"run_ns", "duration of the run; `null`: not known, or several processes", run},
      {"threads", "threads that allocated; in a trace, threads that made a call; 0: not known",
       &All::threads},
      {"served", "allocations and frees of a report by how they were served; empty with a filter",
       served_columns(),
       [&of](const All&) {
         return of.is_of_trace ? std::vector<ServedCalls>() : served_rows(of.report);
       }},
      {"rows", "the longest time first", call_columns(of, nullptr),
       [choice](const All& all) { return first_rows(all.rows, choice.most); }}};
}

namespace {

CallsOf calls_in_order(const CallsOf& of, const RowChoice& choice) {
  CallsOf sorted = of;
  arrange(sorted.calls.rows, call_columns(of, nullptr), choice);
  return sorted;
}

}  // namespace

Document calls_text(const CallsOf& given, const Page& page, const RowChoice& choice) {
  const CallsOf of = calls_in_order(given, choice);
  if (of.calls.rows.empty()) {
    Document none;
    if (page.filters.empty()) {
      none.line("No driver call was recorded.");
    } else {
      none.nothing(std::string(kNothingPasses) + "called.");
    }
    return none;
  }
  const ThreadNames threads(of.report, of.name);
  Columns<DriverCall> columns = call_columns(of, &threads, page);
  std::erase_if(columns, [&](const Column<DriverCall>& column) {
    return (column.name == "waited_ns" && !is_recorded(of.calls, &DriverCall::waited_ns)) ||
           (column.name == "failures" && !is_recorded(of.calls, &DriverCall::failures)) ||
           (column.name == "median_ns" && !is_recorded(of.calls, &DriverCall::median_ns)) ||
           (column.name == "p99_ns" && !is_recorded(of.calls, &DriverCall::most_ns)) ||
           (column.name == "max_ns" && !is_recorded(of.calls, &DriverCall::max_ns));
  });
  Document text;
  text.title("Driver calls");
  text.paragraph(calls_head(of));
  text.paragraph(calls_waits(of));
  text.gap();
  text.table(table_of(columns, of.calls.rows, page, choice.most),
             and_more(of.calls.rows, choice.most, kCallsByNames[static_cast<std::size_t>(of.by)]));
  text.gap();
  text.paragraph(calls_remark(of));
  add_served(text, of, page);
  return text;
}

std::string calls_json(const CallsOf& given, const RowChoice& choice) {
  const CallsOf of = calls_in_order(given, choice);
  return json_of(of.calls, calls_fields(of, choice));
}

void add_calls_csv(CsvText& csv, const CallsOf& given, const RowChoice& choice) {
  const CallsOf of = calls_in_order(given, choice);
  add_rows(csv, of.calls.rows, call_columns(of, nullptr), choice.most);
}

}  // namespace vramscope
