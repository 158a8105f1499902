// Goes through the live files that a run has noted.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/command/orphaned_live_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "reporter/report/files/input_file.h"
#include "reporter/report/live/live_image.h"
#include "reporter/report/live/live_proof.h"
#include "reporter/report/live/recover_file.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::size_t kOthersNamed = 3;

// It is being ended, or has been and its parent has not heard of it yet: /proc/PID/stat, in which
// the name may hold anything.
bool is_ending(std::int64_t pid) {
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING of linux/sched.h
  const std::string text = beginning_of("/proc/" + std::to_string(pid) + "/stat", 4096);
  const std::size_t name_end = text.rfind(") ");
  if (name_end == text.npos) return true;
  const char state = text[name_end + 2];
  if (state == 'Z' || state == 'X') return true;
  const char* at = text.c_str() + name_end + 2;
  constexpr int kFieldsBetween = 6;  // from the state, field 3, to the flags, field 9
  for (int i = 0; i < kFieldsBetween && at != nullptr; ++i) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at != nullptr && (std::strtoul(at, nullptr, 10) & kExiting) != 0;
}

void await_end_of_ending(const std::string& live_file) {
  constexpr int kAttempts = 100;
  constexpr auto kMeanwhile = std::chrono::milliseconds(10);
  for (int i = 0; i < kAttempts; ++i) {
    const LiveFileOwner owner = owner_of_live_file(live_file);
    if (!owner.is_alive || !owner.is_near || !is_ending(owner.pid)) return;
    std::this_thread::sleep_for(kMeanwhile);
  }
}

std::vector<std::string> still_there(std::vector<std::string> files) {
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::erase_if(files, [](const std::string& file) {
    struct stat found {};
    return lstat(file.c_str(), &found) != 0;
  });
  return files;
}

std::string name_of(const Recovery& found) {
  return found.program + " (" + std::to_string(found.pid) + ")";
}

}  // namespace

OrphanedLiveFiles recover_orphaned(const Notes& notes, const Ending& ending, const EndTimes& ends) {
  OrphanedLiveFiles left;
  std::string own;
  for (const std::string& file : still_there(notes.live_files)) {
    await_end_of_ending(file);
    const auto next = notes.next_reports.find(file);
    const bool is_program = owner_of_live_file(file).pid == ending.pid;
    const auto end = ends.find(file);
    const Recovery found =
        recover_file(file, {.signal = is_program ? ending.signal : 0,
                            .ended_ns = end == ends.end() ? 0 : end->second,
                            .usual = next == notes.next_reports.end() ? "" : next->second});
    if (!found.problem.empty()) left.problems.push_back(found.problem);
    const bool is_written = found.result == Recovery::Result::finished && !found.report.empty();
    if (is_written) left.written.push_back(found.report);
    if (found.result != Recovery::Result::recovered) continue;
    if (is_program) {
      own = found.report;
    } else {
      left.reports.push_back(found.report);
      left.others.push_back(name_of(found));
    }
  }
  left.has_program = !own.empty();
  if (left.has_program) left.reports.push_back(own);
  return left;
}

void remove_orphaned(const std::vector<std::string>& live_files) {
  for (const std::string& path : still_there(live_files)) {
    await_end_of_ending(path);
    const OpenLiveFile file(path);
    if (file.problem().empty()) static_cast<void>(remove_proved(file, proof_of(file)));
  }
}

std::string elsewhere_text(const OrphanedLiveFiles& left) {
  return "the program wrote its report to '" + left.written.front() +
         "' in another root folder or another mount";
}

std::string place_text(const OrphanedLiveFiles& left, const Ending& ending) {
  const char* const name = sigabbrev_np(ending.signal);
  const std::string signal =
      name != nullptr ? "SIG" + std::string(name) : std::to_string(ending.signal);
  const std::string how = ending.signal != 0 ? "ended by " + signal + "; "
                          : left.has_program ? "ended without a report; "
                                             : "";
  return how + (left.has_program ? "report recovered in " : "report in ");
}

std::string others_text(const OrphanedLiveFiles& left) {
  const std::string failed = left.problems.empty() ? "" : "; " + left.problems.front();
  if (left.others.empty()) return failed;
  std::string text =
      "; recovered of " + counted(left.others.size(), "descendant") + " that ended without one: ";
  for (std::size_t i = 0; i < std::min(kOthersNamed, left.others.size()); ++i) {
    text += (i == 0 ? "" : ", ") + left.others[i];
  }
  return (left.others.size() > kOthersNamed ? text + ", ..." : text) + failed;
}

}  // namespace vramscope
