// The settings of ours that sequences run in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "test/differential/server.h"

namespace vramscope::differential {

// Natively, then the modes that every sequence runs in.
[[nodiscard]] std::vector<Configuration> modes();
// One option each; a sequence runs in one of them, by its seed.
[[nodiscard]] std::vector<Configuration> rotated();
// The same, but that the device is waited for when memory is handed out again.
[[nodiscard]] Configuration at_reuse(Configuration one);

}  // namespace vramscope::differential
