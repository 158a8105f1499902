// Sends the signal and looks for the report.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/system/report_request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>
#include <variant>

#include "reporter/report/files/descriptor.h"
#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/report/trigger.h"
#include "reporter/view/system/note_file.h"
#include "reporter/view/system/target.h"

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLookAgain = std::chrono::milliseconds(20);

// What may be a report of the process: the lines of its note, or the files in its folder that are
// not hidden (as a report is until it is complete).
std::set<std::string> candidates(const Target& target) {
  std::set<std::string> result;
  for (std::string& line : notes_in(target.note_file).reports) result.insert(std::move(line));
  std::error_code error;
  if (!result.empty() || target.folder.empty()) return result;
  for (const auto& entry : std::filesystem::directory_iterator(target.folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.')) result.insert(entry.path().lexically_normal().string());
  }
  return result;
}

// Others may put files into its folder: theirs are no answer, and a pipe of theirs would keep one
// waiting. The file that was looked at is the one that is read.
bool is_answer(const std::string& path, const Target& target) {
  const Descriptor file(path, O_NONBLOCK | O_NOCTTY);
  struct stat found {};
  if (fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  if (found.st_uid != target.user && found.st_uid != geteuid()) return false;
  const auto read = read_report("/proc/self/fd/" + std::to_string(file.number()));
  const Report* report = std::get_if<Report>(&read);
  return report != nullptr && report->process.pid == target.pid &&
         trigger_of(report->trigger) == Trigger::signal;
}

// The report, or "" when the time is up or the process has ended.
std::string await_answer(const Target& target, std::set<std::string> known, unsigned seconds) {
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  bool alive = true;
  do {
    alive = kill(target.pid, 0) == 0;  // before looking: it may answer and end
    for (const std::string& path : candidates(target)) {
      if (known.insert(path).second && is_answer(path, target)) return path;
    }
    std::this_thread::sleep_for(kLookAgain);
  } while (alive && Clock::now() < until);
  return "";
}

ReportReply no_report(const std::string& problem) { return {.report = {}, .problem = problem}; }

// Where the process has written as many as it may.
std::string why_not_in_time(const ReportRequest& request, const Target& asked) {
  const std::string process = "process " + std::to_string(request.pid);
  const std::optional<TargetFiles> files = read_target(request.pid);
  const Target target = files ? inspect(request.pid, request.signal, *files) : asked;
  if (!target.error.empty()) return target.error;
  if (target.is_held_back) {
    return process +
           " writes at most 10 reports a second on signals, and this one still waits for "
           "its turn; see --wait";
  }
  const std::string where =
      target.folder.empty() ? "where its output pattern says" : "in '" + target.folder + "'";
  return "no report of " + process + " appeared " + where + " in time; see --wait";
}

}  // namespace

ReportReply request_report(const ReportRequest& request,
                           const std::function<void(std::string_view)>& hint) {
  const std::string process = "process " + std::to_string(request.pid);
  const std::optional<TargetFiles> files = read_target(request.pid);
  if (!files) return no_report(process + ": " + std::strerror(errno == ENOENT ? ESRCH : errno));
  const Target target = inspect(request.pid, request.signal, *files);
  if (!target.error.empty()) return no_report(target.error);
  if (!target.hint.empty()) hint(target.hint);

  const std::set<std::string> known = candidates(target);
  if (kill(target.pid, target.signal) != 0) return no_report(process + ": " + std::strerror(errno));
  if (request.wait_seconds == 0) return {};
  std::string report = await_answer(target, known, request.wait_seconds);
  if (!report.empty()) return {.report = std::move(report), .problem = {}};
  if (kill(target.pid, 0) != 0) return no_report(process + " ended without a report");
  return no_report(why_not_in_time(request, target));
}

}  // namespace vramscope
