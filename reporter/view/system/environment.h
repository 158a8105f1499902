// prepare_environment() sets this process's environment for a program that starts with the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramscope {

// What the simulated device should be like.
struct SimulatedDevice {
  std::string model;         // one of kSimulatedModels; "": none
  std::uint64_t memory = 0;  // bytes; 0: as the model has
};
// Adds the device to the simulator's settings.
void set_simulated_device(const SimulatedDevice& device);

// Adds our settings in front of what the user has set. With `simulate` the program finds the
// simulated device, which is like `device`. Sets `nvml` to the library that answers questions about
// the program's GPUs. Returns why the program cannot be started, or "".
[[nodiscard]] std::string prepare_environment(bool simulate, const SimulatedDevice& device,
                                              std::string& nvml);

}  // namespace vramscope
