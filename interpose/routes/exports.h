// Exports let other processes, devices or network hardware access our memory. The bodies of such
// functions share this.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/routes/driver_answers.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {

// Finds our device memory around `address`. Not owned: the memory belongs to the driver.
[[nodiscard]] inline Found find_block(const Call& call, CUdeviceptr address) noexcept {
  const Found found = find_ours(call.profiler().allocator(), address);
  return found.where.kind == Kind::device ? found : Found{};
}

// Returns true if the live block is dedicated; then its segment is never reused. Otherwise
// `function` must be refused with NOT_SUPPORTED; the first time this prints a message.
[[nodiscard]] bool may_export(Call& call, const Found& found, const char* function) noexcept;

// Notes the driver's answer and returns it. A success makes later requests dedicated.
CUresult exported(Call& call, CUresult code) noexcept;

}  // namespace vramscope::routes
