// Maker identifies a process so that others can prove later that it has ended. Notes, unfinished
// files and live files name their maker in this way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramscope {

// Members are zero if the system does not provide them.
struct Maker {
  std::int64_t pid = 0;              // in the process's own pid namespace
  std::uint64_t pid_namespace = 0;   // number of that namespace
  std::uint64_t time_namespace = 0;  // the namespace on which start_ticks depends
  std::uint64_t start_ticks = 0;     // when it started: field 22 of /proc/PID/stat
  std::array<char, 40> boot_id{};    // of the boot, 36 characters and zeros
};

// Returns the calling process. Keeps errno. Threads: any.
[[nodiscard]] Maker this_maker() noexcept;

// Returns whether both ran, or run, since the same boot of one kernel; false if that is not known.
[[nodiscard]] bool is_same_boot(const Maker& one, const Maker& other) noexcept;

// What is known about a process.
enum class MakerState : std::uint8_t { runs, gone, untold };
// Returns `gone` only if it is proved: no process has its number, or one that started at another
// time. untold: the process ran on another machine or before this boot, or its number means another
// process here.
[[nodiscard]] MakerState state_of(const Maker& maker) noexcept;

// Returns whether the process ended with an earlier boot of the machine on which it made the open
// file: the file was last changed before this boot, and no other machine can change it where it
// lies.
[[nodiscard]] bool is_of_earlier_boot(int file, const Maker& maker) noexcept;

// Converts to a part of a file name, "4711-91823-4026531836-4026531834-66d6...", and back.
[[nodiscard]] std::string maker_text(const Maker& maker);
[[nodiscard]] std::optional<Maker> maker_of(std::string_view text) noexcept;

}  // namespace vramscope
