// Where a report, a trace and the live file of a program would go, and whether there is room.
// SPDX-License-Identifier: Apache-2.0
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "interpose/settings/options.h"
#include "reporter/report/live/live_folder.h"
#include "reporter/view/doctor/examinations.h"
#include "reporter/view/listing/format.h"
#include "reporter/view/system/output_check.h"
#include "reporter/view/text/left_overs_text.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kScarce = std::uint64_t{64} << 20;   // less on a file system is told
constexpr std::uint64_t kLiveFile = std::uint64_t{1} << 20;  // that one takes at first, 0.8 MiB
// Live files leave half of a file system to others, or so much (allocator/base/live_memory.cpp).
constexpr std::uint64_t kLeftToOthers = std::uint64_t{1} << 30;

struct Room {
  std::uint64_t all = 0, free = 0;
};
std::optional<Room> room_in(const std::string& folder) {
  struct statvfs system {};
  if (statvfs(folder.c_str(), &system) != 0 || system.f_blocks == 0) return std::nullopt;
  return Room{std::uint64_t{system.f_blocks} * system.f_frsize,
              std::uint64_t{system.f_bavail} * system.f_frsize};
}

std::string whole(const std::string& path) {
  std::error_code error;
  const auto from_root = std::filesystem::absolute(path, error);
  return error ? path : from_root.lexically_normal().string();
}

// A folder of the option output_folder is made by the program: what is tried is the one above it
// that is there.
std::string as_far_as_there(const std::string& pattern) {
  const std::string name = pattern.substr(pattern.rfind('/') + 1);
  std::filesystem::path folder = std::filesystem::path(pattern).parent_path();
  std::error_code error;
  while (!folder.empty() && !std::filesystem::exists(folder, error)) folder = folder.parent_path();
  return (folder / name).string();
}

void examine_pattern(const char* noun, const std::string& pattern, bool is_made,
                     const Patient& patient, Findings& findings) {
  const std::string flag = noun == std::string("trace") ? "--trace" : "--output";
  const std::string tried = is_made ? as_far_as_there(pattern) : pattern;
  const std::string problem = why_not_writable(noun, tried, patient.program);
  if (!problem.empty()) {
    return findings.stops("output", problem, "choose another path with run " + flag);
  }
  const std::string to = whole(pattern);
  const std::string there = whole(tried);
  const auto room = room_in(there.substr(0, there.rfind('/') + 1));
  const std::string free = room ? ", where " + amount_text(room->free) + " are free" : "";
  const std::string what = std::string(noun) + "s go to " + to + free;
  if (!room || room->free >= kScarce) return findings.fine("output", what);
  findings.limits("output", what, "free some space, or choose another path with run " + flag);
}

// The folder in memory that a program would take; "": none.
std::string live_folder_of_this_user() {
  for (const std::string& folder : live_folders_of_environment()) {
    const int error = why_not_private(folder);
    const std::string above = folder.substr(0, folder.rfind('/'));
    if (error == 0 || (error == ENOENT && access(above.c_str(), W_OK) == 0)) return folder;
  }
  return "";
}

void examine_live_folder(Findings& findings) {
  constexpr const char* kElsewhere = "choose a file with run --live-file PATTERN";
  const std::string folder = live_folder_of_this_user();
  if (folder.empty()) {
    return findings.limits("live file",
                           "this user can create a folder neither in /dev/shm nor in "
                           "XDG_RUNTIME_DIR: a program that is killed leaves no report",
                           kElsewhere);
  }
  const auto room = room_in(folder.substr(0, folder.rfind('/')));
  const std::uint64_t others = room ? std::min(room->all / 2, kLeftToOthers) : 0;
  if (room && room->free < others + kLiveFile) {
    return findings.limits(
        "live file",
        folder + " has no room: " + amount_text(room->free) + " of " + amount_text(room->all) +
            " are free there, and a program that is killed leaves no report",
        "enlarge it (docker run --shm-size 1g), or choose a file with run --live-file PATTERN");
  }
  findings.fine("live file", "lies in " + folder + ": a program that is killed leaves a report");
}

// They take memory until somebody recovers them.
void examine_left_overs(Findings& findings) {
  const std::string text = left_overs_text(left_overs());
  if (text.empty()) return;
  findings.limits(
      "live file", text,
      "vramscope recover writes their reports; vramscope recover --discard deletes the files");
}

void examine_live_file(const Options& options, Findings& findings) {
  if (options.live_file == kLiveFileInMemory) return examine_live_folder(findings);
  if (options.live_file == kNoLiveFile) {
    return findings.limits("live file", "is switched off: a program that is killed leaves none",
                           "unset VRAMSCOPE_LIVE_FILE");
  }
  const std::string problem = why_not_writable("live file", options.live_file, "");
  if (problem.empty()) return findings.fine("live file", "goes to " + whole(options.live_file));
  findings.limits("live file", problem, "choose another path with run --live-file");
}

}  // namespace

void examine_output(const Patient& patient, Findings& findings) {
  const Options options = parse_options(collect_settings(environ)).options;
  const bool is_made = !options.output_folder.empty();
  examine_pattern("report", options.output, is_made, patient, findings);
  if (!options.trace.empty()) examine_pattern("trace", options.trace, is_made, patient, findings);
  examine_live_file(options, findings);
  examine_left_overs(findings);
}

}  // namespace vramscope
