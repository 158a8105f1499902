// Messages: the few lines that Vramscope says on stderr inside the host program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// One line "vramscope: <text>", left out where stderr takes none for a tenth of a second: the
// program is not to wait for us. Never fails, keeps errno, does not allocate. Threads: any.
void say(const char* text) noexcept;

// Lines that are said at most once in a process.
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
