// sums_text() lists what processes held of each device together, and how exactly that is known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/peaks/device_sum.h"
#include "reporter/view/analysis/process_figures.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

// "rank 0 (4711), rank 3 (4712) and 5 more": `most` of them by name.
inline constexpr std::size_t kNamed = 3;
[[nodiscard]] std::string names_text(const std::vector<const ReportOfProcess*>& some,
                                     std::size_t most = kNamed);

// Below an empty line, a heading and a line for each sum, or for the `most` with the highest peaks;
// `sums` refer to `reports` by index.
[[nodiscard]] Document sums_text(const std::vector<DeviceSum>& sums,
                                 const std::vector<ReportOfProcess>& reports, const Page& page,
                                 std::size_t most = SIZE_MAX);

}  // namespace vramscope
