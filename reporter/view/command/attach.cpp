// vramscope attach, detach: records a program that was not started by `vramscope run`.
// SPDX-License-Identifier: Apache-2.0
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "reporter/report/live/attach_file.h"
#include "reporter/view/command/live_process.h"
#include "reporter/view/command/recording_options.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/doctor/attachment.h"
#include "reporter/view/system/attach_settings.h"
#include "reporter/view/system/control_call.h"
#include "reporter/view/system/installation.h"
#include "reporter/view/system/loader_call.h"
#include "reporter/view/system/nvml.h"
#include "reporter/view/system/running.h"

namespace vramscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLookAgain = std::chrono::milliseconds(20);
constexpr auto kNextCall = std::chrono::seconds(1);  // a program that uses CUDA now has made one by

struct Arguments {
  pid_t pid = 0;
  unsigned wait_seconds = 10;
  GivenOptions options;
};

std::vector<std::string> settings_of(const Arguments& arguments,
                                     const std::vector<HeldBefore>& held) {
  std::vector<std::string> settings;
  for (const HeldBefore& gpu : held) settings.push_back(held_before_line(gpu));
  bool has_folder = false;
  for (const auto& [row, value] : arguments.options) {
    has_folder = has_folder || (row.name == "output_folder" && !value.empty());
  }
  for (const auto& [row, value] : arguments.options) {
    std::string given = value;
    if (given.empty() && row.name == "output" && !has_folder) given = row.default_value;
    if (given.empty()) continue;
    const bool is_inside = has_folder && (row.name == "output" || row.name == "trace");
    const bool is_path = row.name == "output" || row.name == "trace" || row.name == "output_folder";
    if (is_path && !is_inside) given = path_for_program(given);
    settings.push_back(row.variable + "=" + given);
  }
  return settings;
}

std::vector<HeldBefore> held_by(pid_t pid) {
  std::vector<HeldBefore> held;
  for (const GpuUse& gpu : ask_nvml(kNvml)) {
    for (const GpuProcess& process : gpu.processes) {
      if (process.pid != static_cast<std::uint32_t>(pid) || process.bytes == 0) continue;
      held.push_back({.uuid = gpu.uuid, .bytes = process.bytes});
    }
  }
  return held;
}

void say_what_was_before(const std::vector<HeldBefore>& held) {
  std::uint64_t bytes = 0;
  for (const HeldBefore& gpu : held) bytes += gpu.bytes;
  if (bytes == 0) return;
  say("not recorded is what it had before: " + amount_text(bytes) +
      " of GPU memory, contexts included");
}

std::string why_not_loaded(Loading result, const std::string& seconds) {
  switch (result) {
    case Loading::done:
      return "";
    case Loading::no_place:
      return "none of its threads waited in a system call within " + seconds +
             " s, where it can load the library; see --wait";
    case Loading::unfinished:
      return "it has not loaded the library within " + seconds +
             " s, and goes on doing so: then it is recorded";
    case Loading::forbidden:
      return "the system does not allow to trace it; ask as root";
    case Loading::stopped:
      return "a signal has stopped it";
    case Loading::other_libc:
      return "its C library is not the one of this tool";
    case Loading::ended:
      return "it has ended";
    case Loading::no_machine:
      return "attach works on x86-64 only";
  }
  return "";
}

bool await_recording(pid_t pid) {
  const auto until = Clock::now() + kNextCall;
  while (!is_recorded(pid)) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

int attach(const Arguments& arguments) {
  const std::string process = "process " + std::to_string(arguments.pid);
  const auto refuse_process = [&](const std::string& why) {
    return refuse("cannot attach to " + process + ": " + why);
  };
  std::string why;
  try {
    why = why_not_attachable(arguments.pid, ProcessFiles(arguments.pid));
  } catch (const std::invalid_argument& error) {
    return refuse(error.what());
  }
  if (!why.empty()) return refuse_process(why);
  const InstalledFile library = find_library();
  if (!library.error.empty()) return refuse(library.error);
  const std::vector<HeldBefore> held = held_by(arguments.pid);
  AttachSettings settings(arguments.pid, settings_of(arguments, held));
  if (!settings.problem().empty()) return refuse_process(settings.problem());
  const Loading result = load_into(arguments.pid, library.path, arguments.wait_seconds);
  if (result == Loading::unfinished) settings.keep();
  why = why_not_loaded(result, std::to_string(arguments.wait_seconds));
  if (!why.empty()) return refuse_process(why);
  try {
    if (ProcessFiles(arguments.pid).mapped("libvramscope.so").empty()) {
      return refuse_process("its loader refuses '" + library.path + "'");
    }
  } catch (const std::invalid_argument& error) {
    return refuse(error.what());
  }
  const bool is_seen = await_recording(arguments.pid);
  say(process + (is_seen ? " is recorded from now on, in mode observe"
                         : " is recorded from its next CUDA call on, in mode observe"));
  say_what_was_before(held);
  say("next: vramscope live " + std::to_string(arguments.pid));
  return kFine;
}

int detach(const std::string& pid) {
  const std::optional<RunningProcess> process = live_process_named(pid);
  if (!process) return kBadInput;
  if (process->live_file.empty()) return refuse(no_live_file_of(*process));
  constexpr std::uint64_t kWaitMs = 10'000;
  const ControlOutcome outcome = call_program(*process, {.command = "detach", .wait_ms = kWaitMs});
  if (!outcome.unreachable.empty()) return refuse(outcome.unreachable);
  if (!outcome.reply.is_ok) return refuse("process " + pid + ": " + outcome.reply.error);
  return publish({}, outcome.reply.report + "\n");
}

}  // namespace

Verb add_attach(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("attach", "Record a program that runs already");
  command.positional("PID", &arguments->pid, "A process that uses CUDA", not_a_count);
  command.option("--wait", &arguments->wait_seconds, "Wait SECONDS for a thread that can do it",
                 {.value_name = "SECONDS", .why_not = not_a_count, .shows_default = true});
  add_recording_options(
      command, arguments->options,
      {"mode", "policy", "alloc_conf", "exact_fallback", "reuse", "device_memory_limit", "cupti"});
  command.footer(
      "The program is recorded from now on, in mode observe. What it allocated before is not "
      "recorded. vramscope doctor PID says beforehand whether attach can work.\n"
      "Examples:\n"
      "  vramscope attach 4711 -o server.json\n"
      "  vramscope live 4711\n"
      "  vramscope detach 4711");
  return {.command = &command, .act = [arguments] { return attach(*arguments); }};
}

Verb add_detach(CommandLine& line) {
  auto pid = std::make_shared<std::string>();
  Command& command = line.add_verb("detach", "End the recording that attach has begun");
  command.positional("PID", pid.get(), "A process to which attach was applied");
  command.footer(
      "detach prints the path of the last report. The program's calls reach the driver directly "
      "again.\n"
      "Example:\n"
      "  vramscope report \"$(vramscope detach 4711)\"");
  return {.command = &command, .act = [pid] { return detach(*pid); }};
}

}  // namespace vramscope
