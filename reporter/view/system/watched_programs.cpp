// A live file stays open while its program is watched, so its last state is read also when the
// program has ended and the file has lost its name.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/watched_programs.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "reporter/report/files/process_stat.h"

namespace vramscope {
namespace {

constexpr const char* kWithoutLiveFile = "it has no live file";

ProcessStat stat_of(std::int64_t pid) {
  return process_stat(("/proc/" + std::to_string(pid) + "/stat").c_str());
}

bool was_refused(const Report& report) {
  return std::ranges::any_of(
      report.devices, [](const DeviceReport& device) { return device.statistics.num_ooms > 0; });
}

}  // namespace

struct WatchedPrograms::Watched {
  WatchedProgram program = {};
  std::unique_ptr<LiveReader> reader = {};  // null: there is no live file, or it was read last
  std::uint64_t start_ticks = 0;
  bool is_left = false;              // nothing more will be written into the live file
  bool has_exited = false;           // see LiveReading
  Clock::time_point forgotten = {};  // when its last values are, once it has ended

  // A process that nobody has waited for has ended all the same. One whose line cannot be read, for
  // there is no descriptor left, has not.
  [[nodiscard]] bool is_gone() const {
    const std::int64_t pid = program.process.pid;
    const ProcessStat now = stat_of(pid);
    if (now.state == 0) return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
    return now.state == 'Z' || now.state == 'X' || now.start_ticks != start_ticks;
  }

  void read(const Prepare& prepare) {
    if (reader == nullptr) return;
    LiveReading reading = reader->read();
    program.problem = std::move(reading.problem);
    has_exited = reading.has_exited;
    // What it had before it ended is better than nothing.
    if (!reading.report && reading.has_ended) return;
    program.report = std::move(reading.report);
    if (program.report) prepare(*program.report);
  }

  void leave(const Prepare& prepare) {
    is_left = true;
    read(prepare);
    reader.reset();
  }
};

WatchedPrograms::WatchedPrograms(Find find, Prepare prepare, Clock::duration keep)
    : find_(std::move(find)), prepare_(std::move(prepare)), keep_(keep) {}
WatchedPrograms::~WatchedPrograms() = default;

// Whether the process is watched already. One that has left its live file either ends, or executed
// another program that has a new one.
bool WatchedPrograms::is_known(const RunningProcess& process) const {
  return std::ranges::any_of(watched_, [&](const Watched& one) {
    const bool is_same = !one.program.end && one.program.process.pid == process.pid;
    return is_same && (!one.is_left || process.live_file.empty());
  });
}

// Those that run come first: last values are given up for them.
bool WatchedPrograms::has_room() {
  if (watched_.size() < kMost) return true;
  const auto ended = std::ranges::find_if(
      watched_, [](const Watched& one) { return one.program.end.has_value(); });
  if (ended == watched_.end()) return false;
  watched_.erase(ended);
  return true;
}

void WatchedPrograms::add_new(LookFor where) {
  left_out_ = 0;
  for (RunningProcess& process : find_(where)) {
    const ProcessStat now = stat_of(process.pid);
    if (is_known(process) || now.state == 0 || now.state == 'Z') continue;
    // Two programs with one number would be one to a reader.
    std::erase_if(watched_,
                  [&](const Watched& one) { return one.program.process.pid == process.pid; });
    if (!has_room()) {
      ++left_out_;
      continue;
    }
    Watched one{.start_ticks = now.start_ticks};
    one.program.container = container_of(process.pid);
    if (process.live_file.empty()) one.program.problem = kWithoutLiveFile;
    if (!process.live_file.empty()) one.reader = std::make_unique<LiveReader>(process.live_file);
    one.program.process = std::move(process);
    watched_.push_back(std::move(one));
  }
}

void WatchedPrograms::end(Watched& one) {
  const bool is_refused = one.program.report && was_refused(*one.program.report);
  const ProcessEnd how = is_refused       ? ProcessEnd::out_of_memory
                         : one.has_exited ? ProcessEnd::exit
                                          : ProcessEnd::killed;
  one.program.end = how;
  one.forgotten = Clock::now() + keep_;
  ++ends_[static_cast<std::size_t>(how)];
}

// A process is gone some time after it has left its live file: while the driver frees its memory.
void WatchedPrograms::note_ends() {
  for (Watched& one : watched_) {
    if (one.program.end) continue;
    const bool is_gone = one.is_gone();
    if (one.reader != nullptr && (is_gone || one.reader->is_left())) one.leave(prepare_);
    if (is_gone) end(one);
  }
  const Clock::time_point now = Clock::now();
  std::erase_if(watched_,
                [&](const Watched& one) { return one.program.end && one.forgotten <= now; });
}

void WatchedPrograms::look(LookFor where) {
  note_ends();
  add_new(where);
}

void WatchedPrograms::read() {
  look(LookFor::and_containers);
  for (Watched& one : watched_) {
    if (!one.program.end) one.read(prepare_);
  }
}

std::vector<const WatchedProgram*> WatchedPrograms::programs() const {
  std::vector<const WatchedProgram*> all;
  for (const Watched& one : watched_) {
    if (one.program.end || !one.is_left) all.push_back(&one.program);
  }
  std::ranges::sort(all, {}, [](const WatchedProgram* one) { return one->process.pid; });
  return all;
}

}  // namespace vramscope
