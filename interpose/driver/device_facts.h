// Facts of a device (name, UUID, memory and the like), asked of the driver.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reporter/report/facts.h"

namespace vramscope {

// Returns "GPU-...", or "" if unknown. May throw bad_alloc.
[[nodiscard]] std::string uuid_of(int device);

// Asks the driver. The calling thread's current context must be on `device`. Facts that the driver
// refuses stay empty. May throw bad_alloc.
[[nodiscard]] DeviceFacts ask_device(std::uint16_t device);

// Whether the driver is Vramscope's simulated device.
[[nodiscard]] bool is_simulated_device() noexcept;
// Whether it is a simulated device that other processes do not share, although they seem to use the
// same one.
[[nodiscard]] bool is_simulated_for_one_process() noexcept;
// Returns the number of kernels that the simulated device accepted; 0 on a real one. It is no CUDA
// call. Threads: any.
[[nodiscard]] std::uint64_t simulated_launches() noexcept;

}  // namespace vramscope
