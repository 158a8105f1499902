// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/process_trace.h"

#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "interpose/base/clock.h"
#include "interpose/base/event_of.h"
#include "interpose/base/guard.h"
#include "interpose/base/message.h"
#include "interpose/driver/host_memory.h"
#include "interpose/settings/startup.h"
#include "interpose/table/functions.h"
#include "interpose/tools/nvtx.h"
#include "reporter/report/traces/trace_file.h"

namespace vramscope {
namespace {

std::string why_not(const TraceFile& file) {
  return "cannot write the trace '" + file.path() + "': " + strerrordesc_np(file.error());
}

// A replay of the trace needs them.
std::vector<std::pair<std::string, std::string>> settings_of_service(const ProcessFacts& process) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto& option : process.options) {
    for (const std::string_view name :
         {"mode", "policy", "alloc_conf", "exact_fallback", "reuse", "device_memory_limit"}) {
      if (option.first == name) settings.push_back(option);
    }
  }
  return settings;
}

// `started_ns`: by now_ns().
TraceProcess trace_process(const ProcessFacts& process, std::uint64_t started_ns) {
  return {.pid = process.pid,
          .executable = process.executable,
          .mode = process.mode,
          .tool_version = VRAMSCOPE_VERSION,
          .wall_ns = wall_time_at(started_ns),
          .clock_ns = started_ns,
          .settings = settings_of_service(process),
          .host_bytes = host_memory_bytes()};
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  names.reserve(kFunctionCount);
  for (const FunctionRow& function : kFunctions) names.emplace_back(function.symbol);
  return names;
}

}  // namespace

void ProcessTrace::say_there_is_none(const TraceFile& file) {
  const std::string line = why_not(file) + "; no trace is written";
  say(line.c_str());
  profiler_.recorder().warn(line.c_str());
}

// If the file cannot be made, prints one line, and the program runs without a trace.
void ProcessTrace::start(Trace::Bell bell) noexcept {
  if (startup().options.trace.empty()) return;
  try {
    const ProcessFacts process = process_facts();
    auto file = std::make_unique<TraceFile>(path_of(startup().options.trace, process, 1));
    if (file->error() != 0) return say_there_is_none(*file);
    TraceFile& made = *file;
    auto trace = std::make_unique<Trace>(std::move(file), bell);
    trace->begin(trace_process(process, profiler_.started_ns()), function_names());
    if (made.error() != 0) {
      made.take_away();
      return say_there_is_none(made);
    }
    file_ = &made;
    profiler_.recorder().keep(std::move(trace));
    profiler_.set_traces();
    const auto record = [](void* recorder, const Event& event) {
      static_cast<Recorder*>(recorder)->record_besides(event);
    };
    tell_of_segments();
    tell_of_unrecorded_use();
    profiler_.graph_memory().on_side_effect({.function = record, .context = &profiler_.recorder()});
  } catch (const std::exception&) {
    file_ = nullptr;
    say("not enough memory for a trace; no trace is written");
  }
}

void ProcessTrace::tell_of_segments() noexcept {
  const auto changed = [](void* profiler, const SegmentChange& change) noexcept {
    SegmentChange told = change;
    told.by_pytorch = startup().options.policy == Policy::pytorch;
    static_cast<Profiler*>(profiler)->recorder().trace()->add_segment(told);
  };
  const auto newest = [](void* profiler) noexcept {
    return static_cast<Profiler*>(profiler)->allocator().newest();
  };
  profiler_.backend().on_segments({.changed = changed, .newest = newest, .context = &profiler_});
}

void ProcessTrace::tell_of_unrecorded_use() noexcept {
  const auto changed = [](void* profiler, const UnrecordedChange& change) noexcept {
    static_cast<Profiler*>(profiler)->recorder().trace()->add_unrecorded(change);
  };
  profiler_.unrecorded_use().on_change({.function = changed, .context = &profiler_});
}

void ProcessTrace::write_names(Trace& trace) {
  const KnownNames known = trace.known();
  RecorderFacts names = profiler_.recorder().names(known);
  if (const RangeTable* const named = ranges()) named->copy_to(names);
  trace.write_names(names, known);
}

std::string ProcessTrace::path() const { return file_ == nullptr ? "" : file_->path(); }

void ProcessTrace::write(Which which) noexcept {
  Trace* const trace = profiler_.recorder().trace();
  if (trace == nullptr) return;
  const CallGuard guard(CallGuard::Ends::without_waiting);
  which == Which::all ? trace->write_begun_halves() : trace->write_full_halves();
  try {
    if (profiler_.recorder().has_names_beyond(trace->known())) write_names(*trace);
  } catch (const std::exception&) {  // they are written with the next ones
  }
  note_problem();
}

void ProcessTrace::note_problem() noexcept {
  if (file_->error() == 0 || problem_said_.test_and_set()) return;
  try {
    say((why_not(*file_) + "; the trace ends here, the report continues").c_str());
  } catch (const std::exception&) {
    say("cannot write the trace; the trace ends here, the report continues");
  }
}

TraceReport ProcessTrace::finish(const char* trigger) noexcept {
  TraceReport report;
  Trace* const trace = profiler_.recorder().trace();
  if (trace == nullptr) return report;
  if (std::string_view(trigger) == "exit") trace->end();
  trace->write_events();
  try {
    write_names(*trace);
    report.path = file_->path();
  } catch (const std::exception&) {  // the trace stays readable, without names
  }
  const Trace::Totals totals = trace->write_mark();
  report.events = totals.events;
  report.lost = totals.lost;
  report.bytes = file_->bytes();
  note_problem();
  if (const int error = file_->error(); error != 0) {
    try {
      report.problem = strerrordesc_np(error);
    } catch (const std::exception&) {  // no memory for a reason
    }
  }
  return report;
}

}  // namespace vramscope
