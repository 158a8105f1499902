// goes_back_text() says how much of the cache's free memory the driver can have back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace vramscope {

struct Report;

// Of so many bytes that are free in the device's segments: those beside a live block stay there.
// "; it goes back when memory gets short.", of a report without segments, too.
[[nodiscard]] std::string goes_back_text(const Report& report, std::uint16_t device,
                                         std::uint64_t bytes);

}  // namespace vramscope
