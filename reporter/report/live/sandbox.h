// run_apart() does work in a child process that may crash, loop or take all memory, because it
// reads untrusted data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace vramscope {

// Limits of the child process.
struct ApartLimits {
  std::uint64_t address_bytes = std::uint64_t{4} << 30;  // in addition to what this process has
                                                         // mapped
  unsigned cpu_seconds = 60;
  unsigned wait_seconds = 120;
};

// problem: one line, or "" if `work` ended and returned the text.
struct ApartAnswer {
  std::string text;
  std::string problem;
};

// Runs `work` in a forked child, so it changes nothing here, and returns its text. An exception
// that leaves `work` becomes the problem in its own words; so does a signal that ends the child,
// and exceeding the time limit. Threads: one, the only one of the process.
[[nodiscard]] ApartAnswer run_apart(const ApartLimits& limits,
                                    const std::function<std::string()>& work);

}  // namespace vramscope
