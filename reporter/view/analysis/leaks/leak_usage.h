// LeakUsage says of what a site never freed how much leaked, and how much caches of frameworks hold
// or libraries keep by design.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// A part of what was never freed that is no leak.
struct KeptUsage {
  std::string holder;  // "PyTorch's cache", "libcublas.so"
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

struct LeakUsage : SiteUsage {
  std::uint64_t leaked_bytes = 0;  // of what was never freed, without what is kept
  std::uint64_t leaked_count = 0;
  std::vector<KeptUsage> kept = {};
};

// The rows of usage_with_never_freed(), with the suppressions that come with Vramscope, as
// leaks_of() judges. May throw bad_alloc.
[[nodiscard]] std::vector<LeakUsage> usage_with_leaks(const Report& report, const NameFrame& name);

[[nodiscard]] std::uint64_t kept_bytes(const LeakUsage& usage);
[[nodiscard]] std::uint64_t kept_count(const LeakUsage& usage);

}  // namespace vramscope
