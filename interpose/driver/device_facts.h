// Facts of a device (name, UUID, memory and the like), asked of the driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/report/facts.h"

namespace vramscope {

// "GPU-...", "" unknown. May throw bad_alloc.
[[nodiscard]] std::string uuid_of(int device);

// Asks the driver, on the calling thread, whose current context is on `device`. What it refuses to
// say stays empty. May throw bad_alloc.
[[nodiscard]] DeviceFacts ask_device(std::uint16_t device);

// The driver is Vramscope's own simulated device.
[[nodiscard]] bool is_simulated_device() noexcept;
// It is, and other processes that seem to use the same device have one of their own.
[[nodiscard]] bool is_simulated_for_one_process() noexcept;
// Kernels that the simulated device accepted; 0 on a real one. Not a call of CUDA: any thread.
[[nodiscard]] std::uint64_t simulated_launches() noexcept;

}  // namespace vramscope
