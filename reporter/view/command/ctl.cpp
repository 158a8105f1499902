// vramscope ctl: PyTorch's functions of memory, for a running program.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>

#include "allocator/base/place.h"
#include "interpose/settings/options.h"
#include "reporter/report/live/live_reading.h"
#include "reporter/report/memory_stats.h"
#include "reporter/report/report.h"
#include "reporter/view/command/live_process.h"
#include "reporter/view/command/recording_options.h"
#include "reporter/view/command/verb.h"
#include "reporter/view/listing/json_text.h"
#include "reporter/view/system/control_call.h"
#include "reporter/view/system/report_request.h"
#include "reporter/view/system/stale_sockets.h"

namespace vramscope {
namespace {

struct Arguments {
  std::string pid;
  std::string command;
  std::vector<std::string> values;  // behind the command
  unsigned device = 0;
  unsigned wait_seconds = 5;
  bool json = false;
};

// What the live file answers, so that the program does not notice. Names are those of torch.cuda.
// counter: of memory_stats; "": the command gives several.
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
};

const Question* question_named(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kQuestions, [&](const Question& one) { return one.name == name; });
  return found == std::end(kQuestions) ? nullptr : found;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Question& one : kQuestions) names.emplace_back(one.name);
  for (const ControlCommand& one : kControlCommands) names.emplace_back(one.name);
  return names;
}

// "set-limit" is set_limit, too.
std::string plain_name(std::string given) {
  std::ranges::replace(given, '-', '_');
  return given;
}

std::string no_command(const std::string& given) {
  const std::vector<std::string> names = command_names();
  if (std::ranges::count(names, plain_name(given)) != 0) return "";
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

int ask_live_file(const RunningProcess& process, const Arguments& arguments,
                  const Question& question) {
  if (process.live_file.empty()) return refuse(no_live_file_of(process));
  const LiveReading reading = LiveReader(process.live_file).read();
  if (!reading.report) {
    return refuse("cannot read '" + process.live_file + "': " + reading.problem);
  }
  const Report& report = *reading.report;
  if (arguments.command == "host_memory_stats") {
    return publish({}, text_of_stats(memory_stats(report.host), arguments.json));
  }
  return answer_of_device(report, arguments, question.counter);
}

// Where no socket can be had, the signal still makes a report.
int ask_for_report_by_signal(pid_t pid) {
  constexpr unsigned kWaitSeconds = 10;
  const ReportReply reply = request_report({.pid = pid, .wait_seconds = kWaitSeconds}, say);
  return reply.problem.empty() ? publish({}, reply.report + "\n") : refuse(reply.problem);
}

// Of "on FILE" or "off".
std::string take_on_or_off(const Arguments& arguments, const std::string& name,
                           ControlRequest& request) {
  const std::vector<std::string>& values = arguments.values;
  const bool is_on = values.size() == 2 && values[0] == "on" && !values[1].empty();
  if (is_on) request.path = path_for_program(values[1]);
  const bool is_off = values.size() == 1 && values[0] == "off";
  return is_on || is_off
             ? ""
             : name + " needs 'on FILE' or 'off': vramscope ctl PID " + name + " on FILE";
}

// Returns what is wrong with the words behind the command; else it is in the request.
std::string take_value(const Arguments& arguments, const ControlCommand& command,
                       ControlRequest& request) {
  const std::string name = command.name;
  if (command.argument == ControlArgument::on_or_off) {
    return take_on_or_off(arguments, name, request);
  }
  if (command.argument == ControlArgument::option) {
    if (arguments.values.size() != 2) {
      return name + " needs a name and a value: vramscope ctl PID " + name + " NAME VALUE";
    }
    request.name = plain_name(arguments.values[0]);
    request.value = arguments.values[1];
    return "";
  }
  const bool wants_one = command.argument != ControlArgument::none;
  if (arguments.values.size() > (wants_one ? 1 : 0)) {
    return name + " takes no '" + arguments.values.back() + "'";
  }
  if (!wants_one) return "";
  const std::string value = arguments.values.empty() ? "" : arguments.values.front();
  if (command.argument == ControlArgument::name) {
    request.name = value;
    return value.empty() ? name + " needs a name: vramscope ctl PID " + name + " NAME" : "";
  }
  Bytes bytes;
  if (value == "none") return "";
  if (!read(value, bytes) || bytes.value == 0) {
    return name + " needs a size such as 40GiB, or none" + unit_meant(value);
  }
  request.bytes = bytes.value;
  return "";
}

int tell_memory_info(const std::string& name, const ControlReply& reply, bool is_json) {
  if (reply.waits) {
    say(name + ": these figures are " + std::to_string(reply.age_ns / 1'000'000) +
        " ms old; newer ones wait for its next CUDA call that frees memory or asks the driver for "
        "some");
  }
  return publish({}, text_of_stats({{"free_bytes", static_cast<std::int64_t>(reply.free_bytes)},
                                    {"total_bytes", static_cast<std::int64_t>(reply.total_bytes)},
                                    {"age_ns", static_cast<std::int64_t>(reply.age_ns)}},
                                   is_json));
}

int tell_snapshot(const std::vector<std::string>& segments) {
  std::string text = "[";
  for (const std::string& segment : segments) text += (text.size() == 1 ? "\n" : ",\n") + segment;
  return publish({}, text + "\n]\n");
}

int tell(const RunningProcess& process, const ControlOutcome& outcome, const Arguments& arguments) {
  const std::string name = "process " + std::to_string(process.pid);
  if (!outcome.reply.is_ok) return refuse(name + ": " + outcome.reply.error);
  if (arguments.command == "report") return publish({}, outcome.reply.report + "\n");
  if (arguments.command == "trace") return publish({}, outcome.reply.trace + "\n");
  if (arguments.command == "memory_snapshot") return tell_snapshot(outcome.parts);
  if (arguments.command == "get_memory_info") {
    return tell_memory_info(name, outcome.reply, arguments.json);
  }
  return kFine;
}

int ask_program(const RunningProcess& process, const Arguments& arguments,
                const ControlCommand& command) {
  if (arguments.device >= kMaxDevices) {
    return refuse("--device " + std::to_string(arguments.device) + " is no GPU: at most " +
                  std::to_string(kMaxDevices - 1));
  }
  ControlRequest request{.command = command.name,
                         .device = static_cast<std::uint16_t>(arguments.device),
                         .wait_ms = std::uint64_t{arguments.wait_seconds} * 1000};
  if (const std::string why = take_value(arguments, command, request); !why.empty()) {
    return refuse(why);
  }
  const bool is_report = arguments.command == "report";
  const auto pid = static_cast<pid_t>(process.pid);
  if (process.live_file.empty() && is_report) return ask_for_report_by_signal(pid);
  if (process.live_file.empty()) return refuse(no_live_file_of(process));
  const ControlOutcome outcome = call_program(process, request);
  if (!outcome.unreachable.empty() && is_report) return ask_for_report_by_signal(pid);
  return outcome.unreachable.empty() ? tell(process, outcome, arguments)
                                     : refuse(outcome.unreachable);
}

int ctl(Arguments& arguments) {
  remove_stale_sockets();
  const std::optional<RunningProcess> process = live_process_named(arguments.pid);
  if (!process) return kBadInput;
  arguments.command = plain_name(arguments.command);
  const Question* const question = question_named(arguments.command);
  if (question == nullptr) {
    return ask_program(*process, arguments, *find_control_command(arguments.command));
  }
  if (arguments.values.empty()) return ask_live_file(*process, arguments, *question);
  return refuse(arguments.command + " takes no '" + arguments.values.front() + "'");
}

std::string not_a_wait(const std::string& given) {
  if (std::string why = not_a_count(given); !why.empty()) return why;
  const bool is_short = given.size() <= 4 && std::stoul(given) <= kMostWaitMs / 1000;
  return is_short ? "" : "'" + given + "' is more than " + std::to_string(kMostWaitMs / 1000);
}

}  // namespace

Verb add_ctl(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("ctl", "Ask or steer a running program");
  command.positional("PID", &arguments->pid, "A process of vramscope list", not_a_count);
  command.positional("COMMAND", &arguments->command, "What to ask or do, see below", no_command);
  command.words("VALUE", arguments->values,
                "NAME of mark; BYTES of set_limit, or none; on FILE or off of trace; NAME VALUE of "
                "set_option");
  command.option("--device", &arguments->device, "Choose GPU N",
                 {.value_name = "N", .why_not = not_a_count, .shows_default = true});
  command.option("--wait", &arguments->wait_seconds, "Wait so long for what the program must do",
                 {.value_name = "SECONDS", .why_not = not_a_wait, .shows_default = true});
  command.flag("--json", arguments->json, "Print counters as JSON");
  std::string questions, actions;
  for (const Question& one : kQuestions)
    questions += (questions.empty() ? "" : ", ") + std::string(one.name);
  for (const ControlCommand& one : kControlCommands)
    actions += (actions.empty() ? "" : ", ") + std::string(one.name);
  command.footer("Read from the live file, so that the program does not notice: " + questions +
                 ".\nDone by the program's helper thread: " + actions +
                 ".\nNames and meanings are those of torch.cuda; sizes are in bytes.\n"
                 "Examples:\n"
                 "  vramscope ctl 4711 max_memory_allocated\n"
                 "  vramscope ctl 4711 memory_stats --device 1 --json\n"
                 "  vramscope ctl 4711 mark warmed-up\n"
                 "  vramscope ctl 4711 empty_cache --wait 60\n"
                 "  vramscope ctl 4711 set_limit 40GiB\n"
                 "  vramscope ctl 4711 trace on step.trace\n"
                 "  vramscope ctl 4711 set_option interval 60");
  return {.command = &command, .act = [arguments] { return ctl(*arguments); }};
}

}  // namespace vramscope
