// Statistics and snapshots as the lines of the golden traces.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "allocator/snapshot.h"

namespace vramscope::test {

// One JSON object, keys sorted: the 122 keys of PyTorch 2.6.
[[nodiscard]] std::string statistics_line(const DeviceStatistics& statistics);
// CRC-32 of the values in the order of their keys, 8 bytes each, least significant first.
[[nodiscard]] std::string digest(const DeviceStatistics& statistics);
// Segments with their blocks, by address.
[[nodiscard]] std::string snapshot_line(const Snapshot& snapshot);

}  // namespace vramscope::test
