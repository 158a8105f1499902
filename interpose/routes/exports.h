// Exports let other processes, devices or network hardware reach memory of ours; this is what the
// bodies of such functions share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/routes/driver_answers.h"
#include "interpose/routes/routes.h"

namespace vramscope::routes {

// What we know of device memory of ours around `address`; not owned: the driver's business.
[[nodiscard]] inline Found find_block(const Call& call, CUdeviceptr address) noexcept {
  const Found found = find_ours(call.profiler().allocator(), address);
  return found.where.kind == Kind::device ? found : Found{};
}

// True: the live block is dedicated, and its segment from now on is nobody else's. False: it is
// not, and `function` must be refused with NOT_SUPPORTED; the first time that is said.
[[nodiscard]] bool may_export(Call& call, const Found& found, const char* function) noexcept;

// The driver answered `code`. A success makes later requests dedicated. Gives the code back.
CUresult exported(Call& call, CUresult code) noexcept;

}  // namespace vramscope::routes
