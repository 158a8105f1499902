// How a program ends that the simulated device cannot serve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace vramscope::simulator {

// What its user can do, behind a semicolon.
inline constexpr std::string_view kWaysOut = "link with -cudart shared, or keep its symbols";

// "vramscope: train: LINE" on stderr.
void say_once(std::string_view line);

// The same; `vramscope run` is told that this was said, and the program ends with status 125.
[[noreturn]] void refuse_program(std::string_view line);

}  // namespace vramscope::simulator
