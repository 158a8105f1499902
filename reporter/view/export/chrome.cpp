// Chrome's trace JSON: counters of bytes; of a trace also calls as slices and lives as asynchronous
// events, each with a flow from its allocation to its free. Times are microseconds.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>

#include "reporter/report/json_writer.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"
#include "reporter/view/export/trace_walk.h"

namespace vramscope {
namespace {

std::string microseconds(std::uint64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%" PRIu64 ".%03u", ns / 1000,
                static_cast<unsigned>(ns % 1000));
  return text.data();
}

// One line an event, as the format has them.
class Events {
 public:
  Events(const Report& report, Output& output)
      : output_(output), pid_(std::to_string(report.process.pid)) {
    output_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"vramscope@"
            << VRAMSCOPE_VERSION << "\",\"command\":" << json_string(command_line(report))
            << "},\n\"traceEvents\":[";
    add("M", 0, 0, "process_name", "\"args\":{\"name\":" + json_string(program_name(report)) + "}");
  }
  void end() { output_ << "]}\n"; }

  // name: as it is; more: further members.
  void add(std::string_view phase, std::uint64_t ns, std::int64_t thread, std::string_view name,
           const std::string& more) {
    output_ << (is_first_ ? "\n" : ",\n") << "{\"ph\":\"" << phase << "\",\"pid\":" << pid_
            << ",\"tid\":" << std::to_string(thread) << ",\"ts\":" << microseconds(ns)
            << ",\"name\":" << json_string(name) << "," << more << "}";
    is_first_ = false;
  }
  void counter(std::uint64_t ns, std::string_view name, std::uint64_t bytes) {
    add("C", ns, 0, name, "\"args\":{\"bytes\":" + std::to_string(bytes) + "}");
  }

 private:
  Output& output_;
  std::string pid_;
  bool is_first_ = true;
};

// Of a report: the most in each part of its timeline.
void add_timeline(const Exported& exported, Events& events) {
  for (const TimelineSeries& series : exported.report().timeline.series) {
    const std::string name = memory_name(series.kind, series.device) + " (most)";
    for (std::size_t i = 0; i < series.highest.size(); ++i) {
      events.counter(i * series.bucket_ns, name, series.highest[i]);
    }
  }
}

class Walk {
 public:
  Walk(const Exported& exported, Events& events)
      : exported_(exported),
        events_(events),
        stacks_(exported),
        walk_(exported, {.came = [this](const auto& b, const auto& e) { change(b, e, true); },
                         .went = [this](const auto& b, const auto& e) { change(b, e, false); },
                         .event = [this](const auto& e) { call(e); }}) {}

  std::string run() {
    name_threads();
    return walk_.run();
  }

 private:
  void name_threads() {
    for (const ThreadFact& thread : exported_.names()->facts.threads) {
      if (thread.id == 0) continue;
      events_.add("M", 0, thread.id, "thread_name",
                  "\"args\":{\"name\":" + json_string(thread.name) + "}");
    }
  }
  [[nodiscard]] std::int64_t thread_of(const TraceEvent& one) const {
    const auto& threads = exported_.names()->facts.threads;
    return one.thread < threads.size() ? threads[one.thread].id : 0;
  }

  void call(const TraceEvent& one) {
    if (one.what > trace::What::went) return;
    const auto& functions = exported_.names()->functions;
    const Event& event = one.event;
    const std::string name =
        event.function < functions.size() ? functions[event.function] : "unknown";
    const std::uint64_t first = exported_.report().timeline.start_ns;
    const TraceProcess& process = exported_.names()->process;
    const std::uint64_t at = event.start_ns - process.clock_ns + process.wall_ns - first;
    events_.add("X", at, thread_of(one), name,
                "\"cat\":\"call\",\"dur\":" + microseconds(event.total_ns) +
                    ",\"args\":{\"bytes\":" + std::to_string(event.bytes) +
                    ",\"failed\":" + (event.failed ? "true" : "false") + "}");
  }

  // An asynchronous event: lives overlap as they like.
  void change(const WalkedBlock& block, const TraceEvent& one, bool came) {
    const std::string memory = memory_name(block.place.kind, block.place.device);
    std::uint64_t& held = held_[{block.place.kind, block.place.device}];
    held = came ? held + block.bytes : held - block.bytes;
    const std::uint64_t now = walk_.now_ns();
    events_.counter(now, memory, held);
    const std::string& caller = stacks_.caller(exported_.site_of(block.tag));
    const std::string id = "\"id\":" + std::to_string(block.number);
    const std::string cat = "\"cat\":\"" + memory + "\"," + id;
    events_.add(came ? "b" : "e", now, thread_of(one), caller,
                cat + ",\"args\":{\"bytes\":" + std::to_string(block.bytes) + "}");
    events_.add(came ? "s" : "f", now, thread_of(one), "life",
                "\"cat\":\"flow\"," + id + (came ? "" : ",\"bp\":\"e\""));
  }

  const Exported& exported_;
  Events& events_;
  NamedStacks stacks_;
  TraceWalk walk_;
  std::map<std::pair<Kind, std::uint16_t>, std::uint64_t> held_;
};

}  // namespace

std::string write_chrome(const Exported& exported, Output& output) {
  Events events(exported.report(), output);
  std::string problem;
  if (exported.names() == nullptr) {
    add_timeline(exported, events);
  } else {
    problem = Walk(exported, events).run();
  }
  events.end();
  return problem;
}

}  // namespace vramscope
