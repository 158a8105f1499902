// count_unmeasured_with_others() takes back what no measure tells: a difference of a device's free
// memory is no process's own where others use the device, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

struct Report;

// What a report says of the device's contexts and code is their own.
[[nodiscard]] bool are_contexts_measured(const Report& report, std::uint16_t device);

// Contexts and code that are only known by such a difference count with the ledger's "others", and
// with what was outside when memory ran out. Reports of earlier versions have nothing else. Where a
// limit counted them they stay in the events, which tell what was counted then.
void count_unmeasured_with_others(Report& report);

}  // namespace vramscope
