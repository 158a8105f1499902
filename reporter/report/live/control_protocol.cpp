// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/control_protocol.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "allocator/base/place.h"
#include "reporter/report/json_line.h"
#include "reporter/report/json_writer.h"

namespace vramscope {
namespace {

constexpr std::string_view kBeginsLastLine = "{\"ok\":";

template <class T>
bool take(const JsonMember& member, std::string_view name, T& value) {
  if (member.name != name) return true;
  const T* const found = std::get_if<T>(&member.value);
  if (found != nullptr) value = *found;
  return found != nullptr;
}

std::string expected(std::string_view member, std::string_view what) {
  return "\"" + std::string(member) + "\": expected " + std::string(what);
}

std::string why_unknown(const ControlRequest& request) {
  if (request.command.empty()) return expected("command", "the name of a command");
  std::string names;
  for (const ControlCommand& one : kControlCommands) names += std::string(" ") + one.name;
  return "there is no command '" + request.command.substr(0, 64) + "'; there are:" + names;
}

std::string why_not_valid(const ControlRequest& request) {
  const ControlCommand* const command = find_control_command(request.command);
  if (command == nullptr) return why_unknown(request);
  if (command->argument == ControlArgument::name && request.name.empty()) {
    return expected("name", "a text that is not empty");
  }
  return "";
}

}  // namespace

const ControlCommand* find_control_command(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kControlCommands, [&](const auto& one) { return one.name == name; });
  return found == std::end(kControlCommands) ? nullptr : found;
}

std::string line_of(const ControlRequest& request) {
  return "{\"protocol\":" + std::to_string(kControlProtocol) +
         ",\"command\":" + json_string(request.command) +
         ",\"device\":" + std::to_string(request.device) +
         ",\"name\":" + json_string(request.name) + ",\"path\":" + json_string(request.path) +
         ",\"value\":" + json_string(request.value) +
         ",\"bytes\":" + std::to_string(request.bytes) +
         ",\"wait_ms\":" + std::to_string(request.wait_ms) + "}\n";
}

std::variant<ControlRequest, std::string> read_request(std::string_view line) {
  const std::optional<std::vector<JsonMember>> members = members_of_line(line);
  if (!members) return "the line is not one JSON object";
  ControlRequest request;
  std::uint64_t protocol = 0;
  std::uint64_t device = 0;
  for (const JsonMember& one : *members) {
    if (!take(one, "command", request.command)) return expected("command", "a text");
    if (!take(one, "name", request.name)) return expected("name", "a text");
    if (!take(one, "path", request.path)) return expected("path", "a text");
    if (!take(one, "value", request.value)) return expected("value", "a text");
    const bool is_number = take(one, "protocol", protocol) && take(one, "device", device) &&
                           take(one, "bytes", request.bytes) &&
                           take(one, "wait_ms", request.wait_ms);
    if (!is_number) return expected(one.name, "a number that is not negative");
  }
  if (protocol != kControlProtocol) {
    return expected("protocol", std::to_string(kControlProtocol) + ", found " +
                                    std::to_string(protocol) +
                                    "; use the vramscope of this version");
  }
  if (device >= kMaxDevices)
    return expected("device", "a number below " + std::to_string(kMaxDevices));
  if (request.wait_ms > kMostWaitMs) {
    return expected("wait_ms", "at most " + std::to_string(kMostWaitMs));
  }
  request.device = static_cast<std::uint16_t>(device);
  if (std::string why = why_not_valid(request); !why.empty()) return why;
  return request;
}

std::string success_line(std::string_view members) {
  return std::string(kBeginsLastLine) + "true" + std::string(members) + "}\n";
}

std::string failure_line(std::string_view error, Failure how) {
  constexpr const char* kMembers[] = {"", ",\"waits\":true", ",\"busy\":true"};
  return std::string(kBeginsLastLine) + "false" + kMembers[static_cast<std::size_t>(how)] +
         ",\"error\":" + json_string(error) + "}\n";
}

bool is_last_line(std::string_view line) { return line.starts_with(kBeginsLastLine); }

ControlReply read_reply(std::string_view line) {
  ControlReply reply;
  const std::optional<std::vector<JsonMember>> members = members_of_line(line);
  bool is_right = members.has_value();
  for (const JsonMember& one : members.value_or(std::vector<JsonMember>{})) {
    is_right = is_right && take(one, "ok", reply.is_ok) && take(one, "waits", reply.waits) &&
               take(one, "busy", reply.busy) && take(one, "error", reply.error) &&
               take(one, "report", reply.report) && take(one, "trace", reply.trace) &&
               take(one, "free_bytes", reply.free_bytes) &&
               take(one, "total_bytes", reply.total_bytes) && take(one, "age_ns", reply.age_ns);
  }
  if (is_right) return reply;
  return {.error = "it answers with a line that is not of the protocol"};
}

}  // namespace vramscope
