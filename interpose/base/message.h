// Messages are the lines that Vramscope prints on stderr inside the host program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// Prints one line "vramscope: <text>". Drops it if stderr accepts no output for a tenth of a
// second, so that the program does not wait for us. Never fails, keeps errno, does not allocate.
// Threads: any.
void say(const char* text) noexcept;

// Messages that are printed at most once in a process.
enum class Once : std::uint8_t {
  export_of_part,
  no_helper_thread,
  reports_in_a_second,
  reports_in_all,
  scheduled_report,
  count
};
void say_once(Once which, const char* text) noexcept;

}  // namespace vramscope
