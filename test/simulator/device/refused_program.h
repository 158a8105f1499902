// refuse_program() ends a program that the simulated device cannot serve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace vramscope::simulator {

// What the user can do, for the end of a message.
inline constexpr std::string_view kWaysOut = "link with -cudart shared, or keep its symbols";

// Prints "vramscope: train: LINE" on stderr.
void say_once(std::string_view line);

// Prints the line, tells `vramscope run` so, and ends the program with status 125.
[[noreturn]] void refuse_program(std::string_view line);

}  // namespace vramscope::simulator
