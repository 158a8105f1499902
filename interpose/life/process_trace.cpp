// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/process_trace.h"

#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#include "allocator/base/size_policy.h"
#include "interpose/base/clock.h"
#include "interpose/base/event_of.h"
#include "interpose/base/guard.h"
#include "interpose/base/message.h"
#include "interpose/driver/host_memory.h"
#include "interpose/settings/alloc_conf.h"
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

// As the allocator maps them; 0: a whole segment.
std::uint64_t page_of(const SegmentSnapshot& segment, const Limits& limits) {
  if (!segment.is_expandable) return 0;
  const bool is_coarse = !segment.is_small && !limits.growing_segments;
  return is_coarse ? round_up(limits.large_segment_size, kGranularity) : kSmallSegment;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  names.reserve(kFunctionCount);
  for (const FunctionRow& function : kFunctions) names.emplace_back(function.symbol);
  return names;
}

}  // namespace

void ProcessTrace::prepare(Trace::Bell bell) noexcept {
  bell_ = bell;
  tell_of_segments();
  tell_of_unrecorded_use();
  tell_of_graphs();
  start();
}

// If the file cannot be made, prints one line, and the program runs without a trace.
void ProcessTrace::start() noexcept {
  const std::string& wanted = startup().options.trace;
  if (wanted.empty()) return;
  try {
    const std::string problem = begin(path_of(wanted, process_facts(), 1), false);
    if (problem.empty()) return;
    const std::string line = problem + "; no trace is written";
    say(line.c_str());
    profiler_.recorder().warn(line.c_str());
  } catch (const std::exception&) {
    say("not enough memory for a trace; no trace is written");
  }
}

// Returns why there is none, or "".
std::string ProcessTrace::begin(const std::string& path, bool is_amid) {
  auto file = std::make_unique<TraceFile>(path);
  if (file->error() != 0) return why_not(*file);
  TraceFile& made = *file;
  auto trace = std::make_unique<Trace>(std::move(file), bell_);
  trace->begin(trace_process(process_facts(), profiler_.started_ns()), function_names());
  if (is_amid) trace->begin_amid(kNeverBegun, {});
  if (made.error() != 0) {
    made.take_away();
    return why_not(made);
  }
  problem_said_.clear();
  file_.store(&made, std::memory_order_release);
  static_cast<void>(profiler_.recorder().traces().keep(std::move(trace)));
  profiler_.set_traces();
  profiler_.unrecorded_use().begin_telling();
  return "";
}

std::string ProcessTrace::begin_amid(const std::string& pattern) {
  if (exists()) return "it writes the trace '" + path() + "' already";
  if (ended_.size() == kMostTraces) {
    return "it has written " + std::to_string(kMostTraces) + " traces, and writes no more of them";
  }
  ended_.reserve(kMostTraces);
  std::string problem = begin(path_of(pattern, process_facts(), 1), true);
  if (!problem.empty()) return problem;
  try {
    tell_what_is_live(*profiler_.recorder().trace());
  } catch (const std::exception& error) {
    TraceFile* const file = file_.load(std::memory_order_relaxed);
    stop();
    file->take_away();
    return std::string("what is live cannot be read: ") + error.what();
  }
  return "";
}

void ProcessTrace::stop() noexcept {
  if (!exists()) return;
  static_cast<void>(finish("exit"));
  ended_.push_back(profiler_.recorder().traces().keep(nullptr));
  file_.store(nullptr, std::memory_order_release);
}

// Threads record meanwhile. Readers leave out what happened before the instant of the snapshot.
// Segments that were there have no time.
void ProcessTrace::tell_what_is_live(Trace& trace) {
  TraceBegin begin{.at_ns = now_ns()};
  const Snapshot memory = profiler_.allocator().snapshot();
  begin.serial = memory.allocations;
  const bool by_pytorch = startup().options.policy == Policy::pytorch;
  const Limits limits = parse_alloc_conf(startup().options.alloc_conf, Limits()).limits;
  std::vector<Event> live;
  for (const SegmentSnapshot& segment : memory.segments) {
    using What = SegmentChange::What;
    if (!segment.is_direct) {
      trace.add_segment({.what = segment.is_expandable ? What::pages_came : What::came,
                         .by_pytorch = by_pytorch,
                         .place = segment.place,
                         .address = segment.address,
                         .bytes = segment.total_size,
                         .page_bytes = page_of(segment, limits)});
    }
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const BlockSnapshot& block = memory.blocks[segment.first_block + i];
      if (block.state != BlockState::active_allocated) continue;
      live.push_back({.served = segment.is_direct ? Served::direct : Served::hit,
                      .place = segment.place,
                      .tag = block.tag,
                      .address = block.address,
                      .bytes = block.requested_size,
                      .serial = block.born});
    }
  }
  trace.begin_amid(begin, live);
}

void ProcessTrace::tell_of_segments() noexcept {
  const auto changed = [](void* profiler, const SegmentChange& change) noexcept {
    Trace* const trace = static_cast<Profiler*>(profiler)->recorder().trace();
    if (trace == nullptr) return;
    SegmentChange told = change;
    told.by_pytorch = startup().options.policy == Policy::pytorch;
    trace->add_segment(told);
  };
  const auto newest = [](void* profiler) noexcept {
    return static_cast<Profiler*>(profiler)->allocator().newest();
  };
  profiler_.backend().on_segments({.changed = changed, .newest = newest, .context = &profiler_});
}

void ProcessTrace::tell_of_unrecorded_use() noexcept {
  const auto changed = [](void* profiler, const UnrecordedChange& change) noexcept {
    Trace* const trace = static_cast<Profiler*>(profiler)->recorder().trace();
    if (trace != nullptr) trace->add_unrecorded(change);
  };
  profiler_.unrecorded_use().on_change({.function = changed, .context = &profiler_});
}

void ProcessTrace::tell_of_graphs() noexcept {
  const auto record = [](void* recorder, const Event& event) {
    static_cast<Recorder*>(recorder)->record_besides(event);
  };
  profiler_.graph_memory().on_side_effect({.function = record, .context = &profiler_.recorder()});
}

void ProcessTrace::write_names(Trace& trace) {
  const KnownNames known = trace.known();
  RecorderFacts names = profiler_.recorder().names(known);
  if (const RangeTable* const named = ranges()) named->copy_to(names);
  trace.write_names(names, known);
}

std::string ProcessTrace::path() const {
  const TraceFile* const file = file_.load(std::memory_order_acquire);
  return file == nullptr ? "" : file->path();
}

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
  const TraceFile& file = *file_.load(std::memory_order_acquire);
  if (file.error() == 0 || problem_said_.test_and_set()) return;
  try {
    say((why_not(file) + "; the trace ends here, the report continues").c_str());
  } catch (const std::exception&) {
    say("cannot write the trace; the trace ends here, the report continues");
  }
}

TraceReport ProcessTrace::finish(const char* trigger) noexcept {
  TraceReport report;
  Trace* const trace = profiler_.recorder().trace();
  if (trace == nullptr) return report;
  const TraceFile& file = *file_.load(std::memory_order_acquire);
  if (std::string_view(trigger) == "exit") trace->end();
  trace->write_events();
  try {
    write_names(*trace);
    report.path = file.path();
  } catch (const std::exception&) {  // the trace stays readable, without names
  }
  const Trace::Totals totals = trace->write_mark();
  report.events = totals.events;
  report.lost = totals.lost;
  report.bytes = file.bytes();
  note_problem();
  if (const int error = file.error(); error != 0) {
    try {
      report.problem = strerrordesc_np(error);
    } catch (const std::exception&) {  // no memory for a reason
    }
  }
  return report;
}

}  // namespace vramscope
