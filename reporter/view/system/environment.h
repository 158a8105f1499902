// prepare_environment() sets this process's environment as a program needs it that is to start with
// the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramscope {

// What the simulated device is to be like.
struct SimulatedDevice {
  std::string model;         // one of kSimulatedModels; "": none of them
  std::uint64_t memory = 0;  // bytes; 0: as many as the model has
};
// Adds that to the settings of the simulated device.
void set_simulated_device(const SimulatedDevice& device);

// What the user has set stays, behind ours. With `simulate` the program finds the simulated device,
// which is like `device`. `nvml` becomes the library to ask about the program's GPUs. Gives why the
// program cannot be started; "": it can.
[[nodiscard]] std::string prepare_environment(bool simulate, const SimulatedDevice& device,
                                              std::string& nvml);

}  // namespace vramscope
