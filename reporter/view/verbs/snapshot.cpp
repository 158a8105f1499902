// vramscope snapshot: asks a running program for a report and waits for it.
// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>
#include <variant>

#include "interpose/settings/options.h"
#include "reporter/report/json.h"
#include "reporter/report/report.h"
#include "reporter/view/outside/note_file.h"
#include "reporter/view/outside/target.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLookAgain = std::chrono::milliseconds(20);

struct Arguments {
  pid_t pid = 0;
  std::string signal;
  unsigned wait_seconds = 10;
};

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

bool is_answer(const std::string& path, const Target& target) {
  const auto read = read_report(path);
  const Report* report = std::get_if<Report>(&read);
  return report != nullptr && report->process.pid == target.pid && report->trigger == "signal";
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

int complain(const std::string& line) {
  say(line);
  return kBadInput;
}

int ask(const Arguments& arguments) {
  const std::string process = "process " + std::to_string(arguments.pid);
  const std::optional<TargetFiles> files = read_target(arguments.pid);
  if (!files) return complain(process + ": " + std::strerror(errno));
  Signal signal;
  if (!arguments.signal.empty()) (void)read(arguments.signal, signal);  // checked when parsed
  const Target target = inspect(arguments.pid, signal.number, *files);
  if (!target.error.empty()) return complain(target.error);
  if (!target.hint.empty()) say(target.hint);

  const std::set<std::string> known = candidates(target);
  if (kill(target.pid, target.signal) != 0) return complain(process + ": " + std::strerror(errno));
  if (arguments.wait_seconds == 0) return kFine;
  const std::string report = await_answer(target, known, arguments.wait_seconds);
  if (!report.empty()) return publish({}, report + "\n");
  if (kill(target.pid, 0) != 0) return complain(process + " ended without a report");
  const std::string where =
      target.folder.empty() ? "where its output pattern says" : "in '" + target.folder + "'";
  return complain("no report of " + process + " appeared " + where + " in time; see --wait");
}

std::string no_signal(const std::string& given) {
  Signal signal;
  const bool good = read(given, signal) && signal.number != 0;
  return good ? "" : "'" + given + "' is not a signal such as SIGUSR1 or 10";
}

}  // namespace

Verb add_snapshot(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("snapshot", "Have a running program write a report now");
  command.positional("PID", &arguments->pid, "Process that was started with vramscope run",
                     not_a_count);
  command.option("--wait", &arguments->wait_seconds, "How long to wait for it; 0: not at all",
                 {.value_name = "SECONDS", .why_not = not_a_count, .shows_default = true});
  command.option("--signal", &arguments->signal, "Instead of the one the program was started with",
                 {.value_name = "SIGNAL", .why_not = no_signal});
  command.footer(
      "Prints the path of the report.\n"
      "Examples:\n"
      "  vramscope report \"$(vramscope snapshot 4711)\"");
  return {.command = &command, .act = [arguments] { return ask(*arguments); }};
}

}  // namespace vramscope
