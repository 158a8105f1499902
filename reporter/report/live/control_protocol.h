// The lines that a tool and the helper thread of a program exchange over the control socket
// (reporter/manual/control.md): requests, answers, and the commands that there are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace vramscope {

inline constexpr std::uint64_t kControlProtocol = 1;
inline constexpr std::size_t kMostRequestBytes = 4096;  // of a line, with its end
inline constexpr std::uint64_t kMostWaitMs = 3'600'000;

// What a command needs in addition to its name.
enum class ControlArgument : std::uint8_t { none, name, bytes, on_or_off, option };
inline constexpr std::uint64_t kNoLimit = 0;  // in `bytes` of set_limit

struct ControlCommand {
  const char* name;
  ControlArgument argument = ControlArgument::none;
};

inline constexpr ControlCommand kControlCommands[] = {
    {.name = "mark", .argument = ControlArgument::name},
    {.name = "report"},
    {.name = "reset_peak_memory_stats"},
    {.name = "reset_max_memory_allocated"},
    {.name = "reset_max_memory_cached"},
    {.name = "reset_accumulated_memory_stats"},
    {.name = "reset_accumulated_host_memory_stats"},
    {.name = "empty_cache"},
    {.name = "get_memory_info"},
    {.name = "memory_snapshot"},
    {.name = "pause"},
    {.name = "resume"},
    {.name = "detach"},
    {.name = "set_limit", .argument = ControlArgument::bytes},
    {.name = "trace", .argument = ControlArgument::on_or_off},
    {.name = "set_option", .argument = ControlArgument::option},
};

struct ControlRequest {
  std::string command = {};
  std::uint16_t device = 0;
  std::string name = {};           // of a mark, or of an option
  std::string value = {};          // of an option
  std::string path = {};           // of a trace to begin; "": end it
  std::uint64_t bytes = kNoLimit;  // a limit
  std::uint64_t wait_ms = 0;       // for what a thread of the program must do; at most kMostWaitMs
};

// Returns the row of a command; null: there is none of that name.
[[nodiscard]] const ControlCommand* find_control_command(std::string_view name);

// Returns the request as a line, with its end. May throw bad_alloc, as all functions here.
[[nodiscard]] std::string line_of(const ControlRequest& request);
// Returns the request in a line without its end, or what is wrong with it.
[[nodiscard]] std::variant<ControlRequest, std::string> read_request(std::string_view line);

// The last line of an answer. `members`: further members of the object, as JSON text that begins
// with a comma; "": none.
[[nodiscard]] std::string success_line(std::string_view members = {});
// refused: for good. waits: it is not done yet, and will be. busy: it may be tried again at once.
enum class Failure : std::uint8_t { refused, waits, busy };
[[nodiscard]] std::string failure_line(std::string_view error, Failure how = Failure::refused);

// The last line of an answer, read.
struct ControlReply {
  bool is_ok = false;
  bool waits = false;
  bool busy = false;
  std::string error = {};
  std::string report = {};  // path
  std::string trace = {};   // path
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t age_ns = 0;  // of the two before
};
// Whether the line is a last one; others are parts of an answer.
[[nodiscard]] bool is_last_line(std::string_view line);
[[nodiscard]] ControlReply read_reply(std::string_view line);

}  // namespace vramscope
