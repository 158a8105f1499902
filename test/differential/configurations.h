// The settings of ours that sequences run in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "test/differential/sequence.h"
#include "test/differential/server.h"

namespace vramscope::differential {

// Natively, then the modes that every sequence runs in.
[[nodiscard]] std::vector<Configuration> modes();
// One option each that can be compared in this sequence; it runs in one of them, by its seed.
// Whether a copy of mapped pages needs access for the device of the current context is not known
// (test/simulator/OPEN.md), so expandable segments are for sequences with one device.
[[nodiscard]] std::vector<Configuration> rotated_for(const Sequence& sequence);
// The same, but that the device is waited for when memory is handed out again.
[[nodiscard]] Configuration at_reuse(Configuration one);

}  // namespace vramscope::differential
