// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/live_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "allocator/base/own_file.h"
#include "allocator/base/standard_files.h"
#include "interpose/base/clock.h"
#include "interpose/base/message.h"
#include "interpose/driver/device_facts.h"
#include "interpose/settings/startup.h"
#include "interpose/table/functions.h"
#include "reporter/report/files/file_name.h"
#include "reporter/report/live/live_folder.h"
#include "reporter/report/live/live_owner.h"
#include "reporter/report/live/live_process.h"

namespace vramscope {
namespace {

constexpr long kMeanwhileNs = 1'000'000;  // a thread of the program waits
constexpr int kMostNames = 1000;          // "~1" to "~999" are tried if a name is taken

std::string reason(int problem) { return strerrordesc_np(problem); }

}  // namespace

// The lock belongs to the open file description, which the mapping keeps open after the descriptor
// is closed. Before the lock is taken, `recover` may consider the process dead and remove the file;
// then another one is made.
int LiveFile::begin_at(int folder, const char* name, const std::string& path) noexcept {
  const StandardFilesTaken above_them;
  constexpr int kAttempts = 3;
  int problem = ESTALE;
  for (int i = 0; i < kAttempts && problem == ESTALE; ++i) problem = begin_once(folder, name, path);
  return problem;
}

int LiveFile::begin_once(int folder, const char* name, const std::string& path) noexcept {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
  const int file = openat(folder, name, kFlags, S_IRUSR | S_IWUSR);
  if (file < 0) return errno;
  is_locked_ = lock_alone(file, kMeanwhileNs);
  const FileIdentity made = identity_of(file);
  const int problem = is_named(folder, name, made) ? memory_.begin(file, path.c_str()) : ESTALE;
  close(file);
  if (problem != 0) remove_own_file(folder, name, made);
  return problem;
}

int LiveFile::begin_in(const std::string& folder, const std::string& name) {
  const StandardFilesTaken above_them;
  const int opened = open_private_folder(folder);
  int problem = opened < 0 ? -opened : EEXIST;
  for (int i = 0; i < kMostNames && problem == EEXIST; ++i) {
    const std::string one = name + (i == 0 ? "" : "~" + std::to_string(i));
    std::string path = folder + "/" + one;
    problem = begin_at(opened, one.c_str(), path);
    if (problem == 0) path_ = std::move(path);
  }
  if (opened >= 0) close(opened);
  return problem;
}

void LiveFile::begin_in_memory() {
  const std::string name = base_name(process_facts().executable) + "." + std::to_string(getpid()) +
                           std::string(kLiveSuffix);
  for (const std::string& folder : live_folders(startup().runtime_folder)) {
    const int problem = begin_in(folder, name);
    if (!path_.empty()) return why_not_.clear();
    why_not_ += (why_not_.empty() ? "" : "; ") + folder + ": " + reason(problem);
  }
}

void LiveFile::begin_at_pattern() {
  const std::string wanted = path_of(startup().options.live_file, process_facts(), 1);
  int problem = EEXIST;
  for (int i = 0; i < kMostNames && problem == EEXIST; ++i) {
    std::string path = wanted + (i == 0 ? "" : "~" + std::to_string(i));
    problem = begin_at(AT_FDCWD, path.c_str(), path);
    if (problem == 0) path_ = std::move(path);
  }
  if (problem == 0) return;
  why_not_ = wanted + ": " + reason(problem);
  say(("cannot create the live file '" + wanted + "': " + reason(problem) +
       "; a program that is killed leaves no report")
          .c_str());
}

void LiveFile::begin() noexcept {
  const std::string& wanted = startup().options.live_file;
  if (wanted == kNoLiveFile) return;
  try {
    wanted == kLiveFileInMemory ? begin_in_memory() : begin_at_pattern();
  } catch (const std::exception&) {  // no memory for a name: there is no file
  }
}

void LiveFile::warn(Profiler& profiler) const {
  if (why_not_.empty()) return;
  profiler.recorder().warn(
      ("there is no live file (" + why_not_ + "): a program that is killed leaves no report")
          .c_str());
}

void LiveFile::publish(Profiler& profiler, ProcessFacts process,
                       const std::string& trace_path) noexcept {
  try {
    warn(profiler);
    if (!memory_.is_live()) return;
    const std::uint64_t begun_ns = now_ns();
    process.report_time_ns = wall_time_at(begun_ns);
    LiveStart start{.process = std::move(process),
                    .sample_bytes = profiler.sample_bytes(),
                    .function_names = {},
                    .trace_path = trace_path,
                    .next_report = {},
                    .clock_ns = begun_ns,
                    .is_locked = is_locked_};
    start.next_report = path_of(startup().options.output, start.process, 1);
    for (const FunctionRow& function : kFunctions) {
      start.function_names.emplace_back(function.symbol);
    }
    if (!profiler.live_process().begin(memory_, start)) return remove();
    if (const std::uint32_t problem = memory_.header()->problem; problem != 0) {
      why_not_ = path_ + ": " + reason(static_cast<int>(problem));
      path_.clear();
      warn(profiler);
      return remove();
    }
    std::atomic_ref(memory_.header()->magic).store(LiveHeader::kMagic, std::memory_order_release);
  } catch (const std::exception&) {
    remove();
  }
}

void LiveFile::note_next_report(Profiler& profiler, std::uint64_t sequence) noexcept {
  if (is_removed_.load(std::memory_order_relaxed)) return;
  try {
    profiler.live_process().set_next_report(
        sequence, path_of(startup().options.output, process_facts(), sequence));
  } catch (const std::exception&) {  // keeps the previous name, which is taken then
  }
  profiler.live_process().set_simulated_launches(simulated_launches());
}

std::string LiveFile::problem() const {
  const LiveHeader* const header = path_.empty() ? nullptr : memory_.header();
  const std::uint32_t problem =
      header == nullptr ? 0 : header->problem.load(std::memory_order_relaxed);
  if (problem == 0) return {};
  return "the live file '" + path_ + "' is not complete (" + reason(static_cast<int>(problem)) +
         "): a program that is killed leaves no report";
}

void LiveFile::remove() noexcept {
  if (!is_removed_.exchange(true)) memory_.finish(LiveState::finished);
}

void LiveFile::remove_after(Profiler& profiler, const std::string& report) noexcept {
  if (is_removed_.exchange(true)) return;
  profiler.live_process().set_last_report(report);
  memory_.finish(LiveState::reported);
}

void LiveFile::note_failed_exec() noexcept {
  if (is_removed_.load(std::memory_order_relaxed) && memory_.revive()) is_removed_ = false;
}

}  // namespace vramscope
