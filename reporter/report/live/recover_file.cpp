// Maps a live file in a child process, and lets each room report what it stored there.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/recover_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <variant>

#include "allocator/recovery.h"
#include "reporter/report/assemble.h"
#include "reporter/report/files/file_name.h"
#include "reporter/report/files/input_file.h"
#include "reporter/report/files/output_file.h"
#include "reporter/report/json.h"
#include "reporter/report/live/live_image.h"
#include "reporter/report/live/live_parts.h"
#include "reporter/report/live/live_process.h"
#include "reporter/report/live/live_proof.h"
#include "reporter/report/live/sandbox.h"
#include "reporter/report/parts.h"
#include "reporter/report/report.h"
#include "reporter/report/traces/trace_input.h"
#include "reporter/report/traces/trace_reader.h"
#include "reporter/report/trigger.h"

namespace vramscope {
namespace {

std::string signal_name(int signal) {
  if (signal == 0) return "";
  const char* const name = sigabbrev_np(signal);
  return "SIG" + (name != nullptr ? std::string(name) : std::to_string(signal));
}

// Returns what is known of the process's trace, as far as it was written.
TraceReport trace_at(const std::string& path) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // more would take too long
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

constexpr const char* kMoving =
    "copied while the process was running, and not at one instant: numbers may not agree";

ReportParts parts_of(const LiveHeader& header, const RecoveredProcess& known,
                     const RecoveryWish& wish, ImageOf how) {
  ReportParts parts = live_parts(header, known, recover_memory(header));
  parts.trigger = word_of(how == ImageOf::moving ? Trigger::moving : Trigger::recovered);
  parts.process.ended_by = signal_name(wish.signal);
  parts.trace = trace_at(known.trace_path);
  std::vector<std::string>& warnings = parts.recorder.warnings;
  if (how == ImageOf::moving) warnings.insert(warnings.begin(), kMoving);
  return parts;
}

// Returns the path, in the current folder if its own folder is gone, as that of a test or a job may
// be.
std::string place_for(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  struct stat found {};
  const bool is_there = slash == path.npos || stat(path.substr(0, slash + 1).c_str(), &found) == 0;
  if (is_there || errno != ENOENT) return path;
  return (std::filesystem::current_path() / path.substr(slash + 1)).string();
}

// Extends the timeline from the last call to that time.
void set_end(TimelineFacts& timeline, std::uint64_t ended_ns) {
  if (ended_ns <= timeline.start_ns || timeline.start_ns == 0) return;
  timeline.duration_ns = std::max(timeline.duration_ns, ended_ns - timeline.start_ns);
}

std::uint64_t taken_bytes(int file) {
  struct stat found {};
  return fstat(file, &found) != 0 ? 0 : static_cast<std::uint64_t>(found.st_blocks) * 512;
}

constexpr const char* kCopy =
    "it is a copy of a live file, or was renamed; name it to have its report";
const std::string kUnreadable = "what it holds makes no report that could be read: ";
constexpr char kBetween = '\0';  // between the two texts of an answer

// Other programs read files with other endings and obey them, as the loader reads
// /etc/ld.so.preload.
bool is_name_of_report(const std::string& path) { return path.ends_with(".json"); }

std::string usual_place(const RecoveredProcess& known, const RecoveryWish& wish) {
  if (!wish.usual.empty()) return place_for(wish.usual);
  if (known.next_report.empty()) throw std::runtime_error("it has no name for its report");
  if (is_name_of_report(known.next_report)) return place_for(known.next_report);
  throw std::runtime_error("it names '" + known.next_report +
                           "' for its report, which does not end in .json");
}

std::string name_of(const ProcessFacts& process) {
  return program_name(process.executable, process.arguments);
}

// Returns where the report is written.
std::string place_of(const RecoveredProcess& known, const RecoveryWish& wish) {
  const std::string& output = wish.output;
  if (output.empty()) return usual_place(known, wish);
  struct stat found {};
  const bool is_folder = stat(output.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  if (!is_folder && !output.ends_with('/')) return output;
  const ProcessFacts& process = known.process;
  const std::string usual =
      is_name_of_report(known.next_report)
          ? base_name(known.next_report)
          : "vramscope." + name_of(process) + "." + std::to_string(process.pid) + ".json";
  return output + (output.ends_with('/') ? "" : "/") + usual;
}

// A text of at most PATH_MAX bytes that a child process leaves behind, even if a damaged file ends
// it.
class LeftText {
 public:
  LeftText() {
    void* const page =
        mmap(nullptr, PATH_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) text_ = static_cast<char*>(page);
  }
  ~LeftText() {
    if (text_ != nullptr) munmap(text_, PATH_MAX);
  }
  LeftText(const LeftText&) = delete;
  LeftText& operator=(const LeftText&) = delete;

  void set(const std::string& text) const {
    if (text_ != nullptr && text.size() < PATH_MAX) text.copy(text_, text.size());
  }
  [[nodiscard]] std::string get() const {
    return text_ == nullptr ? std::string() : std::string(text_, strnlen(text_, PATH_MAX - 1));
  }

 private:
  char* text_ = nullptr;
};

// Runs in the child process. Returns the path of the report and the name of the program. The child
// may end while it writes next to `left`.
std::string write_recovered(int file, const RecoveryWish& wish, ImageOf how, const LeftText& left) {
  const LiveHeader& header = map_live_image(file, how);
  const RecoveredProcess known = recover_process(header);
  const std::string place = place_of(known, wish);
  Report report = assemble(parts_of(header, known, wish, how));
  set_end(report.timeline, wish.ended_ns);
  if (how == ImageOf::ended) remove_unfinished(place, known.owner);
  left.set(place);
  const auto written = write_readable_report(report, place);
  if (const auto* error = std::get_if<FileError>(&written)) {
    const bool is_unwritten = error->message.empty() || error->message.starts_with("cannot write");
    throw std::runtime_error(is_unwritten ? error->message : kUnreadable + error->message);
  }
  return std::get<std::string>(written) + kBetween + name_of(known.process);
}

// Runs in the child process. Returns what the file held and the name of the program.
std::string tell_content(int file) {
  const LiveHeader& header = map_live_image(file, ImageOf::ended);
  const RecoveredProcess known = recover_process(header);
  const Report report = assemble(parts_of(header, known, {}, ImageOf::ended));
  std::uint64_t bytes = 0;
  for (const KindFacts& kind : report.kinds) bytes += kind.current_bytes;
  return std::to_string(bytes) + kBetween + name_of(known.process);
}

// Runs in the child process. Returns the name of a report that the process wrote itself.
std::string find_written(int file) {
  return recover_process(map_live_image(file, ImageOf::ended)).next_report;
}

ApartAnswer write_apart(int file, const RecoveryWish& wish, ImageOf how) {
  const LeftText left;
  ApartAnswer answer =
      run_apart(limits_for(file), [&] { return write_recovered(file, wish, how, left); });
  if (answer.text.empty() && !left.get().empty()) remove_unfinished(left.get(), {});
  return answer;
}

// Pointers in a copy of changing memory may be wrong. Then another copy is made.
ApartAnswer write_of(int file, const RecoveryWish& wish, ImageOf how) {
  constexpr int kAttempts = 5;
  ApartAnswer answer;
  for (int i = 0; i < (how == ImageOf::moving ? kAttempts : 1) && answer.text.empty(); ++i) {
    answer = write_apart(file, wish, how);
  }
  return answer;
}

Recovery recovered(const ApartAnswer& answer, std::int64_t pid) {
  const std::size_t between = answer.text.find(kBetween);
  return {.result = Recovery::Result::recovered,
          .pid = pid,
          .report = answer.text.substr(0, between),
          .program = answer.text.substr(std::min(between + 1, answer.text.size()))};
}

// Removes the file of a dead process that had finished with it. If its report is not known, it is
// not named.
Recovery clear_away(const OpenLiveFile& file, const LiveProof& proof) {
  Recovery done{.result = Recovery::Result::finished, .pid = proof.owner.pid};
  const int number = file.number();
  if (proof.last == LiveState::reported) {
    done.report = run_apart(limits_for(number), [&] { return find_written(number); }).text;
  }
  done.stays = remove_proved(file, proof);
  return done;
}

// Recovers a whole file.
Recovery recover_whole(const OpenLiveFile& file, const LiveProof& proof, const RecoveryWish& wish) {
  using Result = Recovery::Result;
  const std::int64_t pid = proof.owner.pid;
  const bool is_dead = proof.state == OwnerState::dead;
  if (!is_dead && !wish.alive_too) return {.result = Result::alive, .pid = pid};
  if (is_dead && !file.lock()) return {.result = Result::taken, .pid = pid};
  if (proof.last != LiveState::needed) return clear_away(file, proof);
  const ApartAnswer answer =
      write_of(file.number(), wish, is_dead ? ImageOf::ended : ImageOf::moving);
  if (!answer.problem.empty()) {
    return {.result = Result::failed, .pid = pid, .reason = answer.problem};
  }
  Recovery done = recovered(answer, pid);
  if (is_dead) done.stays = remove_proved(file, proof);
  return done;
}

Recovery recover_open(const OpenLiveFile& file, const RecoveryWish& wish) {
  using Result = Recovery::Result;
  if (!file.problem().empty()) return {.result = Result::foreign, .reason = file.problem()};
  const LiveProof proof = proof_of(file);
  switch (proof.what) {
    case LiveProof::What::foreign:
      return {.result = Result::foreign, .reason = proof.why};
    case LiveProof::What::begun:
      static_cast<void>(remove_proved(file, proof));
      return {.result = Result::empty};
    case LiveProof::What::whole:
      break;
  }
  if (!proof.is_as_made && !wish.is_named) {
    return {.result = Result::foreign, .pid = proof.owner.pid, .reason = kCopy};
  }
  return recover_whole(file, proof, wish);
}

}  // namespace

Recovery recover_file(const std::string& path, const RecoveryWish& wish) {
  Recovery found = recover_open(OpenLiveFile(path), wish);
  if (!found.reason.empty()) found.problem = "cannot recover '" + path + "': " + found.reason;
  return found;
}

Discarded discard_file(const std::string& path, const std::function<void(const Discarded&)>& tell) {
  using Result = Recovery::Result;
  const OpenLiveFile file(path);
  if (!file.problem().empty()) return {.result = Result::foreign, .reason = file.problem()};
  const LiveProof proof = proof_of(file);
  Discarded found{.pid = proof.owner.pid, .file_bytes = taken_bytes(file.number())};
  found.reason = why_it_stays(file, proof);
  if (!found.reason.empty()) {
    const bool is_alive = proof.what == LiveProof::What::begun || proof.is_as_made;
    found.result = is_alive ? Result::alive : Result::foreign;
    return found;
  }
  if (proof.what == LiveProof::What::whole) {
    const ApartAnswer answer =
        run_apart(limits_for(file.number()), [&] { return tell_content(file.number()); });
    const std::size_t between = std::min(answer.text.find(kBetween), answer.text.size());
    found.live_bytes = std::strtoull(answer.text.c_str(), nullptr, 10);
    found.program = answer.text.substr(std::min(between + 1, answer.text.size()));
    found.unreadable = answer.problem;
  }
  tell(found);
  found.reason = remove_proved(file, proof);
  if (found.reason.empty()) found.result = Result::recovered;
  return found;
}

LiveFileOwner owner_of_live_file(const std::string& path) {
  const OpenLiveFile file(path);
  if (!file.problem().empty()) return {};
  const LiveProof proof = proof_of(file);
  if (proof.what != LiveProof::What::whole) return {};
  const LiveOwner here = this_owner();
  return {.pid = proof.owner.pid,
          .is_alive = proof.state != OwnerState::dead,
          .is_near = is_same_boot(proof.owner, here) && here.pid_namespace != 0 &&
                     proof.owner.pid_namespace == here.pid_namespace};
}

bool is_live_file(const std::string& path) {
  constexpr std::uint64_t kMagic = LiveHeader::kMagic;
  const std::string begin = beginning_of(path, sizeof kMagic);
  return begin.size() == sizeof kMagic && std::memcmp(begin.data(), &kMagic, sizeof kMagic) == 0;
}

}  // namespace vramscope
