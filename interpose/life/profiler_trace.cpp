// The trace of this process: when it begins, what the helper thread does for it, how it ends.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "interpose/call/event_of.h"
#include "interpose/ground/clock.h"
#include "interpose/ground/guard.h"
#include "interpose/ground/message.h"
#include "interpose/life/profiler.h"
#include "interpose/settings/startup.h"
#include "interpose/table/functions.h"
#include "interpose/tools/nvtx.h"
#include "reporter/record/trace/trace.h"
#include "reporter/report/traces/trace_file.h"

namespace vramscope {
namespace {

std::string why_not(const TraceFile& file) {
  return "cannot write the trace '" + file.path() + "': " + strerrordesc_np(file.error());
}

TraceProcess trace_process(const ProcessFacts& process) {
  return {.pid = process.pid,
          .executable = process.executable,
          .mode = process.mode,
          .tool_version = VRAMSCOPE_VERSION,
          .wall_ns = wall_time_ns(),
          .clock_ns = now_ns()};
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  names.reserve(kFunctionCount);
  for (const FunctionRow& function : kFunctions) names.emplace_back(function.symbol);
  return names;
}

}  // namespace

// A file that cannot be made is one line; the program runs without a trace.
void Profiler::start_trace() noexcept {
  if (options_.trace.empty()) return;
  try {
    const ProcessFacts process = process_facts();
    auto file = std::make_unique<TraceFile>(path_of(options_.trace, process, 1));
    if (file->error() != 0) {
      const std::string line = why_not(*file) + "; there is none";
      say(line.c_str());
      recorder_.warn(line.c_str());
      return;
    }
    trace_file_ = file.get();
    const auto ring = [](void* triggers) { static_cast<Triggers*>(triggers)->ring(); };
    auto trace = std::make_unique<Trace>(std::move(file), Trace::Bell{ring, &triggers_});
    trace->begin(trace_process(process), function_names());
    recorder_.keep(std::move(trace));
    const auto told = [](void* recorder, const Event& event) {
      static_cast<Recorder*>(recorder)->record_besides(event);
    };
    graph_memory_.tell({.told = told, .who = &recorder_});
  } catch (const std::exception&) {
    trace_file_ = nullptr;
    say("not enough memory for a trace; there is none");
  }
}

void Profiler::write_names(Trace& trace) {
  const KnownNames known = trace.known();
  RecorderFacts names = recorder_.names(known);
  if (const RangeTable* const named = ranges()) names.ranges = named->facts();
  trace.write_names(names, known);
}

void Profiler::write_trace() noexcept {
  Trace* const trace = recorder_.trace();
  if (trace == nullptr) return;
  const Inside inside(Inside::Ends::without_waiting);
  trace->write_full_halves();
  try {
    if (recorder_.has_names_beyond(trace->known())) write_names(*trace);
  } catch (const std::exception&) {  // they come with the next ones
  }
  note_trace_problem();
}

void Profiler::note_trace_problem() noexcept {
  if (trace_file_->error() == 0 || trace_problem_said_.test_and_set()) return;
  try {
    say((why_not(*trace_file_) + "; it ends here, the report goes on").c_str());
  } catch (const std::exception&) {
    say("cannot write the trace; it ends here, the report goes on");
  }
}

bool Profiler::wants_report(const char* trigger) const noexcept {
  const std::string_view why = trigger;
  return options_.report_at_exit || (why != "exit" && why != "exec");
}

TraceReport Profiler::finish_trace(const char* trigger) noexcept {
  TraceReport report;
  Trace* const trace = recorder_.trace();
  if (trace == nullptr) return report;
  if (std::string_view(trigger) == "exit") trace->end();
  trace->write_events();
  try {
    write_names(*trace);
    report.path = trace_file_->path();
  } catch (const std::exception&) {  // the trace stays readable, without names
  }
  const Trace::Totals totals = trace->write_mark();
  report.events = totals.events;
  report.lost = totals.lost;
  report.bytes = trace_file_->bytes();
  note_trace_problem();
  if (const int error = trace_file_->error(); error != 0) {
    try {
      report.problem = strerrordesc_np(error);
    } catch (const std::exception&) {  // no memory for a reason
    }
  }
  return report;
}

}  // namespace vramscope
