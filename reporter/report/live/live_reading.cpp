// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/live_reading.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>
#include <variant>

#include "allocator/recovery.h"
#include "reporter/report/assemble.h"
#include "reporter/report/files/output_file.h"
#include "reporter/report/json.h"
#include "reporter/report/json_writer.h"
#include "reporter/report/live/live_parts.h"
#include "reporter/report/live/live_process.h"
#include "reporter/report/live/live_proof.h"
#include "reporter/report/live/sandbox.h"
#include "reporter/report/trigger.h"

namespace vramscope {
namespace {

// The image of the file and the memory in it.
struct Read {
  const LiveHeader& header;
  Snapshot memory;
};

Read read_moving(int file) {
  const LiveHeader& first = map_live_image(file, ImageOf::moving);
  const std::uint64_t base = first.base;
  const MovingMemory memory(first, [=](void* to, std::uint64_t address, std::size_t bytes) {
    return pread(file, to, bytes, static_cast<off_t>(address - base)) ==
           static_cast<ssize_t>(bytes);
  });
  // Copied after the memory was read, the names are those of all its tags.
  const LiveHeader& second = map_live_image_again(file, first);
  return {second, memory.snapshot(second)};
}

Read read_ended(int file) {
  const LiveHeader& header = map_live_image(file, ImageOf::ended);
  Snapshot memory = recover_memory(header);
  memory.segments.clear();
  memory.blocks.clear();
  return {header, std::move(memory)};
}

std::uint64_t wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Dates a report of a process that runs.
void set_time(Report& report) {
  const std::uint64_t now_ns = wall_ns();
  const std::uint64_t passed_ns = now_ns - std::min(report.process.report_time_ns, now_ns);
  report.process.report_time_ns = now_ns;
  for (DeviceReport& device : report.devices) device.facts.free_bytes_age_ns += passed_ns;
}

// Runs in the child process. Writes the report to an open file, and returns the name of the next.
std::string write_reading(int file, ImageOf how, int to) {
  Read read = how == ImageOf::moving ? read_moving(file) : read_ended(file);
  const RecoveredProcess known = recover_process(read.header);
  ReportParts parts = live_parts(read.header, known, std::move(read.memory));
  if (parts.memory.tags.size() > std::max<std::size_t>(parts.recorder.tags.size(), 1)) {
    throw std::runtime_error("it names not all of its call sites yet");
  }
  parts.trigger = word_of(how == ImageOf::moving ? Trigger::moving : Trigger::recovered);
  Report report = assemble(std::move(parts));
  if (how == ImageOf::moving) set_time(report);
  OutputFile output("");
  output.open_as(to);
  write_json(report, nullptr, output);
  output.finish();
  if (output.error() != 0) throw std::runtime_error(std::strerror(output.error()));
  return known.next_report;
}

// A file in memory, which the child process writes and this one reads.
class MemoryFile {
 public:
  MemoryFile() : number_(memfd_create("vramscope-reading", MFD_CLOEXEC)) {
    if (number_ < 0 || fchmod(number_, S_IRUSR | S_IWUSR) != 0) problem_ = std::strerror(errno);
  }
  ~MemoryFile() {
    if (number_ >= 0) close(number_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }  // "": there is a file

 private:
  int number_;
  std::string problem_;
};

bool try_to_read(int file, ImageOf how, LiveReading& reading) {
  const MemoryFile scratch;
  if (!scratch.problem().empty()) {
    reading.problem = "no file in memory for the reading: " + scratch.problem();
    return false;
  }
  const int to = scratch.number();
  ApartLimits limits = limits_for(file);
  limits.wait_seconds = 30;
  const ApartAnswer answer = run_apart(limits, [=] { return write_reading(file, how, to); });
  reading.problem = answer.problem;
  if (!answer.problem.empty()) return false;
  auto read = read_report("/proc/self/fd/" + std::to_string(to));
  if (const auto* error = std::get_if<FileError>(&read)) {
    reading.problem = "what was read makes no report: " + error->message;
    return false;
  }
  reading.report = std::move(std::get<Report>(read));
  reading.report->file.clear();
  reading.next_report = answer.text;
  return true;
}

}  // namespace

bool LiveReader::is_left() const {
  if (!file_.problem().empty()) return true;
  const LiveProof proof = proof_of(file_);
  return proof.what == LiveProof::What::whole && proof.state == OwnerState::dead;
}

// A copy of what changes may have pointers that lead nowhere. Then another one is made.
LiveReading LiveReader::read() const {
  using Clock = std::chrono::steady_clock;
  constexpr int kAttempts = 5;
  constexpr auto kPatience = std::chrono::seconds(3);
  if (!file_.problem().empty()) return {.problem = file_.problem()};
  LiveReading reading;
  const Clock::time_point begun = Clock::now();
  for (int i = 0; i < kAttempts && Clock::now() - begun < kPatience; ++i) {
    const LiveProof proof = proof_of(file_);
    if (proof.what != LiveProof::What::whole) {
      return {.problem = proof.why.empty() ? "its process has only begun" : proof.why};
    }
    reading.has_ended = proof.state == OwnerState::dead;
    reading.is_reported = proof.last == LiveState::reported;
    reading.has_exited = reading.has_ended && proof.last != LiveState::needed;
    const ImageOf how = reading.has_ended ? ImageOf::ended : ImageOf::moving;
    if (try_to_read(file_.number(), how, reading)) break;
  }
  return reading;
}

}  // namespace vramscope
