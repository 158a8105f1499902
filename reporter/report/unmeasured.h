// count_unmeasured_with_others() corrects amounts that were not measured: a difference of a
// device's free memory belongs to no single process if others use the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

struct Report;

// Returns whether the report's contexts and code of a device are measured as this process's own.
[[nodiscard]] bool are_contexts_measured(const Report& report, std::uint16_t device);

// Counts contexts and code that are only known from such a difference with the ledger's "others",
// and with outside_bytes of out-of-memory events. Reports of earlier versions have only such
// differences. If a limit counted them, they stay in the events, which say what was counted.
void count_unmeasured_with_others(Report& report);

}  // namespace vramscope
