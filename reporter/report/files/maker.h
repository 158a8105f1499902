// Maker names a process so that others can prove later that it has ended: a note, an unfinished
// file and a live file say who makes them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramscope {

// Zero where the system does not say.
struct Maker {
  std::int64_t pid = 0;              // in its own namespace of process ids
  std::uint64_t pid_namespace = 0;   // that namespace's number
  std::uint64_t time_namespace = 0;  // on which start_ticks depends
  std::uint64_t start_ticks = 0;     // when it started: field 22 of /proc/PID/stat
  std::array<char, 40> boot_id{};    // of the machine's run, 36 characters and zeros
};

// The calling process. Keeps errno. Threads: any.
[[nodiscard]] Maker this_maker() noexcept;

// Whether both ran, or run, on one kernel since it was started; false where that is not known.
[[nodiscard]] bool is_same_boot(const Maker& one, const Maker& other) noexcept;

// What can be told of a process by its number.
enum class MakerState : std::uint8_t { runs, gone, untold };
// gone is proved: its number belongs to nobody, or to who started at another time. untold: it ran
// on another machine or before this one was started, or its number means somebody else here.
[[nodiscard]] MakerState state_of(const Maker& maker) noexcept;

// Whether it has gone with all of the run of the machine in which it made the open file: the file
// was last changed before this machine was started, and lies where no other machine can change it.
[[nodiscard]] bool is_of_earlier_boot(int file, const Maker& maker) noexcept;

// "4711-91823-4026531836-4026531834-66d6...": as a part of a file's name, and back.
[[nodiscard]] std::string maker_text(const Maker& maker);
[[nodiscard]] std::optional<Maker> maker_of(std::string_view text) noexcept;

}  // namespace vramscope
