// run_apart() does in a child process what may crash, loop or take all memory, because it reads
// what anybody may have written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace vramscope {

// What the child may take.
struct ApartLimits {
  std::uint64_t address_bytes = std::uint64_t{4} << 30;  // beyond what this process has mapped
  unsigned cpu_seconds = 60;
  unsigned wait_seconds = 120;
};

// problem: one line, "" when `work` ended and gave the text.
struct ApartAnswer {
  std::string text;
  std::string problem;
};

// What `work` gives, which runs in a child of fork: it changes nothing here. An exception that
// leaves it is the problem, in its own words; so is a signal that ends the child, and the end of
// its time. Threads: one, the only one of the process.
[[nodiscard]] ApartAnswer run_apart(const ApartLimits& limits,
                                    const std::function<std::string()>& work);

}  // namespace vramscope
