// Maps a live file in a child process and has each room say what it had in it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/recover_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "allocator/recovery.h"
#include "reporter/record/recovery.h"
#include "reporter/report/assemble.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/files/output_file.h"
#include "reporter/report/json.h"
#include "reporter/report/live/live_folder.h"
#include "reporter/report/live/live_image.h"
#include "reporter/report/live/live_owner.h"
#include "reporter/report/live/live_process.h"
#include "reporter/report/live/sandbox.h"
#include "reporter/report/parts.h"
#include "reporter/report/report.h"
#include "reporter/report/traces/trace_input.h"
#include "reporter/report/traces/trace_reader.h"

namespace vramscope {
namespace {

// What the process makes last is not there.
bool is_begun_only(const OpenLiveFile& file) {
  std::uint64_t magic = 0;
  return pread(file.number(), &magic, sizeof magic, 0) >= 0 && magic == 0;
}

// Nobody needs what was only begun; but it may be just being made, or be no live file at all.
void remove_begun(const OpenLiveFile& file) {
  constexpr std::time_t kSeconds = 2;
  struct stat found {};
  if (file.path().find(kLiveSuffix) == std::string::npos) return;
  if (fstat(file.number(), &found) != 0) return;
  if (std::time(nullptr) - found.st_mtime >= kSeconds) file.remove();
}

std::string signal_name(int signal) {
  if (signal == 0) return "";
  const char* const name = sigabbrev_np(signal);
  return "SIG" + (name != nullptr ? std::string(name) : std::to_string(signal));
}

// What is in the trace that the process wrote, as far as it came.
TraceReport trace_at(const std::string& path) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // more would keep one waiting
  TraceReport trace;
  struct stat found {};
  if (path.empty() || stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return trace;
  trace.path = path;
  trace.bytes = static_cast<std::uint64_t>(found.st_size);
  trace.problem = "the program was ended";
  if (trace.bytes > kMostBytes) return trace;
  const TraceInput input(path);
  if (!input.problem().empty()) return trace;
  const TraceReader reader(input.bytes(), TraceReader::Damage::left_out);
  if (!reader.problem().empty()) return trace;
  trace.events = reader.events();
  trace.lost = reader.lost();
  return trace;
}

// The report is of the last instant at which anything is known to have happened.
void set_time(ReportParts& parts, const RecoveredProcess& known) {
  const std::uint64_t last_ns = parts.process.report_time_ns;
  if (parts.memory.taken_ns == 0) return;
  const std::uint64_t now_ns = known.wall_ns + (parts.memory.taken_ns - known.clock_ns);
  parts.process.report_time_ns = now_ns;
  for (DeviceFacts& device : parts.devices) {
    const std::uint64_t age_ns = device.free_bytes_age_ns + now_ns;
    device.free_bytes_age_ns = age_ns - std::min(age_ns, last_ns);
  }
}

constexpr const char* kMoving =
    "copied while the process went on, and not of one instant: numbers may not agree";

ReportParts parts_of(const LiveHeader& header, const RecoveredProcess& known,
                     const RecoveryWish& wish, ImageOf how) {
  ReportParts parts;
  parts.trigger = how == ImageOf::moving ? "moving" : kRecovered;
  parts.sequence = known.next_sequence;
  parts.process = known.process;
  parts.process.ended_by = signal_name(wish.signal);
  parts.devices = known.devices;
  parts.sample_bytes = known.sample_bytes;
  parts.function_names = known.function_names;
  parts.memory = recover_memory(header);
  parts.recorder = recover_facts(header);
  parts.trace = trace_at(known.trace_path);
  std::vector<std::string>& warnings = parts.recorder.warnings;
  if (how == ImageOf::moving) warnings.insert(warnings.begin(), kMoving);
  set_time(parts, known);
  return parts;
}

// Where its folder has gone since, as that of a test or a job does, it is the one that we are in.
std::string place_for(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  struct stat found {};
  const bool is_there = slash == path.npos || stat(path.substr(0, slash + 1).c_str(), &found) == 0;
  if (is_there || errno != ENOENT) return path;
  return (std::filesystem::current_path() / path.substr(slash + 1)).string();
}

// The timeline goes on behind the last call until then.
void set_end(TimelineFacts& timeline, std::uint64_t ended_ns) {
  if (ended_ns <= timeline.start_ns || timeline.start_ns == 0) return;
  timeline.duration_ns = std::max(timeline.duration_ns, ended_ns - timeline.start_ns);
}

constexpr char kBetween = '\0';  // of the answer's two texts

// The path of the report, and the name of the program; in the child process.
std::string write_recovered(int file, const RecoveryWish& wish, ImageOf how) {
  const LiveHeader& header = map_live_image(file, how);
  const RecoveredProcess known = recover_process(header);
  if (known.next_report.empty()) throw std::runtime_error("it has no name for its report");
  Report report = assemble(parts_of(header, known, wish, how));
  set_end(report.timeline, wish.ended_ns);
  const auto written = write_report(report, place_for(known.next_report));
  if (const auto* error = std::get_if<FileError>(&written))
    throw std::runtime_error(error->message);
  if (how == ImageOf::ended) {
    remove_unfinished(known.next_report, known.owner.pid, known.owner.start_ticks);
  }
  const std::string& program = known.process.executable;
  return std::get<std::string>(written) + kBetween + program.substr(program.rfind('/') + 1);
}

ApartAnswer write_apart(int file, const RecoveryWish& wish, ImageOf how) {
  constexpr std::uint64_t kOwnBytes = std::uint64_t{1} << 30;
  constexpr std::uint64_t kCopies = 16;  // what lies in tables takes more as text and as values
  const ApartLimits limits{.address_bytes = kOwnBytes + kCopies * live_bytes(file)};
  return run_apart(limits, [&] { return write_recovered(file, wish, how); });
}

}  // namespace

Recovery recover_file(const std::string& path, const RecoveryWish& wish) {
  const OpenLiveFile file(path);
  const auto failed = [&](const std::string& problem, std::int64_t pid) {
    return Recovery{.result = Recovery::Result::failed,
                    .pid = pid,
                    .report = {},
                    .problem = "cannot recover '" + path + "': " + problem};
  };
  if (!file.problem().empty()) return failed(file.problem(), 0);
  const std::optional<LiveOwner> owner = owner_of(file.number());
  const std::int64_t pid = owner ? owner->pid : 0;
  const bool alive = owner && is_alive(file.number(), *owner);
  if (alive && !wish.alive_too) return {.result = Recovery::Result::alive, .pid = pid};
  if (!alive && !file.lock()) return {.result = Recovery::Result::taken, .pid = pid};
  if (!owner && is_begun_only(file)) {
    remove_begun(file);
    return {.result = Recovery::Result::empty};
  }
  ApartAnswer answer;
  constexpr int kAttempts = 5;  // a copy of what changes meanwhile may lead nowhere
  for (int i = 0; i < (alive ? kAttempts : 1) && answer.text.empty(); ++i) {
    answer = write_apart(file.number(), wish, alive ? ImageOf::moving : ImageOf::ended);
  }
  if (!answer.problem.empty()) return failed(answer.problem, pid);
  if (!alive) file.remove();
  const std::size_t between = answer.text.find(kBetween);
  return {.result = Recovery::Result::recovered,
          .pid = pid,
          .report = answer.text.substr(0, between),
          .program = answer.text.substr(std::min(between + 1, answer.text.size()))};
}

LiveFileOwner owner_of_live_file(const std::string& path) {
  const OpenLiveFile file(path);
  if (!file.problem().empty()) return {};
  const std::optional<LiveOwner> owner = owner_of(file.number());
  if (!owner) return {};
  const std::uint64_t space = this_owner().pid_namespace;
  return {.pid = owner->pid,
          .is_alive = is_alive(file.number(), *owner),
          .is_near = space != 0 && owner->pid_namespace == space};
}

bool is_live_file(const std::string& path) {
  constexpr std::uint64_t kMagic = LiveHeader::kMagic;
  const std::string begin = beginning_of(path, sizeof kMagic);
  return begin.size() == sizeof kMagic && std::memcmp(begin.data(), &kMagic, sizeof kMagic) == 0;
}

}  // namespace vramscope
