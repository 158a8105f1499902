// prepare_environment() sets this process's environment as a program needs it that is to start with
// the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramscope {

// What the user has set stays, behind ours. With `simulate` the program finds the simulated device,
// which has `simulated_memory` bytes (0: as many as it usually has). `nvml` becomes the
// library to ask about the program's GPUs. Gives why the program cannot be started; "": it can.
[[nodiscard]] std::string prepare_environment(bool simulate, std::uint64_t simulated_memory,
                                              std::string& nvml);

}  // namespace vramscope
