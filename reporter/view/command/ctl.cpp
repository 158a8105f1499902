// vramscope ctl: PyTorch's questions about memory, answered for a running program.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>

#include "reporter/report/live/live_reading.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"
#include "reporter/view/command/live_process.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/system/report_request.h"

namespace vramscope {
namespace {

struct Arguments {
  std::string pid;
  std::string command;
  unsigned device = 0;
  bool json = false;
};

// Names are those of torch.cuda. counter: of memory_stats; "": the command gives several.
struct Question {
  const char* name;
  const char* counter;
};
constexpr Question kQuestions[] = {
    {"memory_stats", ""},
    {"memory_allocated", "allocated_bytes.all.current"},
    {"max_memory_allocated", "allocated_bytes.all.peak"},
    {"memory_reserved", "reserved_bytes.all.current"},
    {"max_memory_reserved", "reserved_bytes.all.peak"},
    {"memory_cached", "reserved_bytes.all.current"},
    {"max_memory_cached", "reserved_bytes.all.peak"},
    {"host_memory_stats", ""},
    {"report", ""},
};

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Question& one : kQuestions) names.emplace_back(one.name);
  return names;
}

std::string no_command(const std::string& given) {
  const std::vector<std::string> names = command_names();
  if (std::ranges::count(names, given) != 0) return "";
  return "'" + given + "' is no command" + nearest(given, names);
}

std::string text_of_stats(const FlatStats& stats, bool is_json) {
  JsonText json;
  std::string text;
  json.object();
  for (const auto& [key, value] : stats) {
    json.key(key).cell(value);
    text += key + " " + std::to_string(value) + "\n";
  }
  return is_json ? json.end().text() : text;
}

// Before its first use a device has no counters; a single one is 0 then.
int answer_of_device(const Report& report, const Arguments& arguments, std::string_view counter) {
  const auto device = std::ranges::find_if(
      report.devices, [&](const DeviceReport& one) { return one.facts.index == arguments.device; });
  if (device == report.devices.end()) {
    return refuse("process " + arguments.pid + " has not used GPU " +
                  std::to_string(arguments.device));
  }
  const FlatStats stats = memory_stats(*device);
  if (counter.empty()) return publish({}, text_of_stats(stats, arguments.json));
  const auto found =
      std::ranges::find_if(stats, [&](const auto& one) { return one.first == counter; });
  return publish({}, std::to_string(found == stats.end() ? 0 : found->second) + "\n");
}

int ask_for_report(pid_t pid) {
  constexpr unsigned kWaitSeconds = 10;
  const ReportReply reply = request_report({.pid = pid, .wait_seconds = kWaitSeconds}, say);
  return reply.problem.empty() ? publish({}, reply.report + "\n") : refuse(reply.problem);
}

int ctl(const Arguments& arguments) {
  const std::optional<RunningProcess> process = live_process_named(arguments.pid);
  if (!process) return kBadInput;
  if (arguments.command == "report") return ask_for_report(static_cast<pid_t>(process->pid));
  if (process->live_file.empty()) return refuse(no_live_file_of(*process));
  const LiveReading reading = LiveReader(process->live_file).read();
  if (!reading.report) {
    return refuse("cannot read '" + process->live_file + "': " + reading.problem);
  }
  const Report& report = *reading.report;
  if (arguments.command == "host_memory_stats") {
    return publish({}, text_of_stats(memory_stats(report.host), arguments.json));
  }
  const auto* const question = std::ranges::find_if(
      kQuestions, [&](const Question& one) { return one.name == arguments.command; });
  return answer_of_device(report, arguments, question->counter);
}

}  // namespace

Verb add_ctl(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("ctl", "Ask a running program for a counter or a report");
  command.positional("PID", &arguments->pid, "A process of vramscope list", not_a_count);
  command.positional("COMMAND", &arguments->command, "What to ask, see below", no_command);
  command.option("--device", &arguments->device, "Ask for GPU N",
                 {.value_name = "N", .why_not = not_a_count, .shows_default = true});
  command.flag("--json", arguments->json, "Print counters as JSON");
  std::string names;
  for (const std::string& name : command_names()) names += (names.empty() ? "" : ", ") + name;
  command.footer("Commands: " + names +
                 ".\nTheir names and meanings are those of torch.cuda; sizes are in bytes. ctl "
                 "reads the program's live file and does not disturb it; only report sends the "
                 "signal of snapshot.\n"
                 "Examples:\n"
                 "  vramscope ctl 4711 max_memory_allocated\n"
                 "  vramscope ctl 4711 memory_stats --device 1 --json");
  return {.command = &command, .act = [arguments] { return ctl(*arguments); }};
}

}  // namespace vramscope
