// Statistics and snapshots as the lines of the golden traces.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "allocator/base/snapshot.h"

namespace vramscope::test {

using Values = std::map<std::string, std::int64_t>;

// The 122 keys of PyTorch 2.6; what is newer is left out.
[[nodiscard]] Values values_of(const DeviceStatistics& statistics);
[[nodiscard]] Values values_of(const HostStatistics& statistics);
// One JSON object, keys sorted.
[[nodiscard]] std::string values_line(const Values& values);
// CRC-32 of the values in the order of their keys, 8 bytes each, least significant first.
[[nodiscard]] std::string digest(const Values& values);
// Segments with their blocks, by address.
[[nodiscard]] std::string snapshot_line(const Snapshot& snapshot);

}  // namespace vramscope::test
