// SPDX-License-Identifier: Apache-2.0
#include "interpose/routes/other_context.h"

#include <algorithm>

namespace vramscope::routes {

Contexts::Generation context_on(Profiler& profiler, std::uint16_t device) noexcept {
  Contexts::Generation found = Contexts::unseen;
  profiler.contexts().each_on(device, [&](CUcontext, Contexts::Generation one) { found = one; });
  return found;
}

std::optional<std::uint64_t> unrecorded_now(Profiler& profiler, std::uint16_t device,
                                            Contexts::Generation one) noexcept {
  if (one == Contexts::unseen || profiler.captures().any()) return {};
  const ContextScope scope(profiler.contexts(), one);
  if (scope.code() != CUDA_SUCCESS) return {};
  return profiler.unrecorded_use().measure(device);
}

void ReleaseOfExported::happened(std::uint64_t bytes) const noexcept {
  constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
  if (!before_ || bytes < kPage / 2) return;  // smaller memory shares its page with other memory
  const auto after = unrecorded_now(profiler_, device_, context_on(profiler_, device_));
  if (!after || *after <= *before_) return;
  const std::uint64_t whole = (bytes + kPage - 1) / kPage * kPage;
  profiler_.unrecorded_use().gave_up_exported(device_, std::min(*after - *before_, whole));
}

}  // namespace vramscope::routes
