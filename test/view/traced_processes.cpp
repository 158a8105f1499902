// Writes what a process would have written.
// SPDX-License-Identifier: Apache-2.0
#include "test/view/traced_processes.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "reporter/record/recorder.h"
#include "reporter/record/trace/trace.h"
#include "reporter/report/report.h"
#include "test/reporter/trace_store.h"

namespace vramscope {
namespace {

Event event_of(const TracedChange& change, std::uint64_t serial) {
  Event event;
  event.function = 1;
  event.effect = change.came ? Effect::allocate : Effect::release;
  event.served = Served::hit;
  event.change = change.came ? MemoryChange::came : MemoryChange::went;
  event.place = change.place;
  event.address = change.address;
  event.bytes = change.bytes;
  event.start_ns = change.at_ns;
  event.serial = serial;
  return event;
}

// What lives when the trace begins amid the run.
std::vector<Event> live_before(const TracedProcess& run) {
  std::map<Address, Event> live;
  std::uint64_t serial = 0;
  for (const TracedChange& change : run.changes) {
    const Event event = event_of(change, serial++);
    if (change.at_ns >= run.late_ns) break;
    if (change.came) live[change.address] = event;
    if (!change.came) live.erase(change.address);
  }
  std::vector<Event> events;
  for (const auto& [address, event] : live) events.push_back(event);
  return events;
}

void record(const TracedProcess& run, Recorder& recorder) {
  std::uint64_t serial = 0;
  std::uint64_t before = 0;
  for (const TracedChange& change : run.changes) {
    if (change.at_ns >= run.late_ns) recorder.record(event_of(change, serial));
    if (change.at_ns < run.late_ns) before = serial;
    ++serial;
  }
  if (run.late_ns == 0) return;
  recorder.trace()->begin_amid({.serial = before, .at_ns = run.late_ns}, live_before(run));
}

void write_trace(const TracedProcess& run, const std::string& path) {
  auto store = std::make_unique<TraceStore>();
  const TraceStore& written = *store;
  Recorder recorder(3);
  auto trace = std::make_unique<Trace>(std::move(store), Trace::Bell{});
  trace->begin({.pid = run.pid,
                .executable = "/bin/x",
                .mode = "cache",
                .tool_version = "1",
                .wall_ns = run.boot_ns + TracedProcess::kBegin,
                .clock_ns = TracedProcess::kBegin},
               {"none", "call"});
  if (run.late_ns != 0) trace->begin_amid(kNeverBegun, {});
  recorder.traces().keep(std::move(trace));
  record(run, recorder);
  Trace& kept = *recorder.trace();
  kept.write_events();
  const KnownNames known = kept.known();
  RecorderFacts names = recorder.names(known);
  names.marks = run.marks;
  kept.write_names(names, known);
  if (!run.is_cut) kept.write_mark();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(written.bytes.data()),
             static_cast<std::streamsize>(written.bytes.size()));
}

std::vector<KindFacts> kinds_of(const TracedChanges& changes) {
  std::map<std::pair<Kind, std::uint16_t>, KindFacts> kinds;
  for (const TracedChange& change : changes) {
    KindFacts& kind = kinds[{change.place.kind, change.place.device}];
    kind.kind = change.place.kind;
    kind.device = change.place.device;
    kind.current_bytes += change.came ? change.bytes : 0 - change.bytes;
    kind.peak_bytes = std::max(kind.peak_bytes, kind.current_bytes);
  }
  std::vector<KindFacts> all;
  for (const auto& [where, kind] : kinds) all.push_back(kind);
  return all;
}

}  // namespace

TracedProcess traced_process(std::int64_t pid, std::uint64_t from_ns, std::uint64_t to_ns,
                             std::uint64_t bytes) {
  return {.pid = pid,
          .changes = {{.at_ns = from_ns, .place = {}, .address = 64, .bytes = bytes},
                      {.at_ns = to_ns, .place = {}, .address = 64, .bytes = bytes, .came = false}}};
}

TracedProcesses::TracedProcesses()
    : folder_(std::filesystem::path(testing::TempDir()) /
              ("traced." + std::to_string(getpid()) + "." +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
  std::filesystem::create_directories(folder_);
}
TracedProcesses::~TracedProcesses() { std::filesystem::remove_all(folder_); }

ReportOfProcess TracedProcesses::report_of(const TracedProcess& run) const {
  const std::string name = std::to_string(run.pid) + ".trace";
  write_trace(run, (folder_ / name).string());
  ReportOfProcess one{.file = (folder_ / "report.json").string(), .process = {}};
  MergedProcess& process = one.process;
  process.process.pid = run.pid;
  process.process.executable = "/bin/x";
  process.process.hostname = "node1";
  process.process.start_time_ns = run.boot_ns;
  process.process.report_time_ns = run.boot_ns + TracedProcess::kEnd;
  process.trigger = "exit";
  process.kinds = kinds_of(run.changes);
  std::set<std::uint16_t> devices;
  for (const KindFacts& kind : process.kinds) devices.insert(kind.device);
  for (const std::uint16_t device : devices) {
    const std::string uuid = "GPU-" + std::to_string(device);
    process.devices.push_back({.index = device, .name = "H200", .uuid = uuid, .pci_bus_id = ""});
  }
  process.timeline = {.start_ns = run.boot_ns, .duration_ns = TracedProcess::kEnd, .series = {}};
  process.trace = {
      .path = "/nowhere/" + name,
      .events = static_cast<std::uint64_t>(std::ranges::count_if(
          run.changes, [&](const TracedChange& change) { return change.at_ns >= run.late_ns; })),
      .bytes = 0,
      .lost = 0,
      .problem = ""};
  return one;
}

}  // namespace vramscope
