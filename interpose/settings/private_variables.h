// The variables of the environment through which the command line tool, the library and the
// simulated device talk to each other: their names and the forms of their values. No settings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramscope {

// Absolute path of a file, from `run` to the library of every process of the run. It begins with a
// line of kNoteBeginning and who made it. The library opens it for each report with open_note() and
// appends a line: the report's path, one of the next two, or at the beginning the third with the
// path of its trace. Two lines together say where its live file is and which report it stands for:
// what the live file says itself may come from who took a program over that gave up its rights.
// A newline in a path is a null byte in the file. One line, with kFreeNote, is for the library:
// free_before_text() of what was free before the program had a context on any device. As long as
// it may come still, the file is locked (flock).
inline constexpr const char* kNoteVariable = "VRAMSCOPE_NOTE_FILE";
inline constexpr const char* kNoteBeginning = "vramscope-note 1 ";  // of its first line
inline constexpr const char* kReportFailed = "!";                   // a report could not be written
inline constexpr const char* kProgramRefused = "?";  // the simulated device said why it cannot run
inline constexpr const char* kTraceNote = "trace ";
inline constexpr const char* kLiveNote = "live ";
inline constexpr const char* kNextNote = "next ";
inline constexpr const char* kFreeNote = "free ";
// By the name of the library's thread `snapshot` knows what becomes of the signal: "vramscope",
// then
// "+own" where the program handles it too, then one of the marks.
struct HelperState {
  enum class Quota : char {
    free = '\0',
    held_back = '~',  // a report that was asked for waits, for there were many in this second
    used_up = '!'     // no signal has a report any more
  };
  bool is_beside_handler = false;
  Quota quota = Quota::free;
  [[nodiscard]] bool operator==(const HelperState&) const = default;
};
// After vramscope detach: no name by which others find it.
inline constexpr const char* kNameOfEndedHelper = "vs-detached";
[[nodiscard]] std::array<char, 16> helper_name(const HelperState& state) noexcept;
// Nothing: it is no name of the library's thread.
[[nodiscard]] std::optional<HelperState> helper_state(std::string_view name) noexcept;
// Path of the library that NVTX would have loaded without ours, from `run` to ours.
inline constexpr const char* kNvtxInjectionVariable = "VRAMSCOPE_NVTX_INJECTION";
// Settings of the simulated device, of which the last one counts (test/simulator).
inline constexpr const char* kSimulatorVariable = "VRAMSCOPE_SIM";
// What its setting `device` takes, which is --sim-device of the tool: each a row of gpu_models.cpp
// there.
inline constexpr char kSimulatedModels[] = "h200, h100, a100, l4, rtx4090, t4, orin, gb10, gh200";
// Path of the library, for `run` where it is not installed beside it.
inline constexpr const char* kLibraryVariable = "VRAMSCOPE_LIBRARY";
// Owner of the note in the library's file that says its version.
inline constexpr const char* kVersionNote = "vramscope";
// "off": `run`, `report` and `doctor` say nothing of live files that earlier programs left, and
// `run` recovers none of them.
inline constexpr const char* kLeftOversVariable = "VRAMSCOPE_LEFT_OVERS";
// Name of a deliberate fault (allocator/base/faults.def), in a build that has them.
inline constexpr const char* kFaultVariable = "VRAMSCOPE_FAULT";

inline constexpr std::string_view kPrivateVariables[] = {
    kNoteVariable,    kNvtxInjectionVariable, kSimulatorVariable,
    kLibraryVariable, kLeftOversVariable,
#ifdef VRAMSCOPE_FAULTS
    kFaultVariable,
#endif
};

// The file that kNoteVariable names, to append to; -1: it is not proved to be a note that a `run`
// of the calling user made, and nothing is written: a plain file of that user's, which nobody else
// may open, under one name that is no link, and with kNoteBeginning first. Never made, nor waited
// for. Keeps errno.
[[nodiscard]] int open_note(const char* path) noexcept;

struct FreeBytes {
  std::string uuid;  // "GPU-" and 32 digits in groups
  std::uint64_t bytes = 0;
};

// "GPU-1234...=400000000,GPU-...=0", as a line of the note says it.
[[nodiscard]] std::string free_before_text(const std::vector<FreeBytes>& devices);

// What the note (kNoteVariable) says of what was free, as free_before_text(); "" when it says
// nothing. Waits while the line may come still, a second at most. Keeps errno; may throw bad_alloc.
[[nodiscard]] std::string free_before_in(const char* note);

// What that text says of a device; nothing when it does not name it or is not of that form.
[[nodiscard]] std::optional<std::uint64_t> free_before(std::string_view text,
                                                       std::string_view uuid) noexcept;

}  // namespace vramscope
