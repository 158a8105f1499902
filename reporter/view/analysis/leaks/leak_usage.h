// LeakUsage divides what a site never freed into leaked memory and memory that frameworks' caches
// hold or libraries keep by design.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// A part of never freed memory that is not a leak.
struct KeptUsage {
  std::string holder;  // "PyTorch's cache", "libcublas.so"
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

struct LeakUsage : SiteUsage {
  std::uint64_t leaked_bytes = 0;  // never freed, without the kept memory
  std::uint64_t leaked_count = 0;
  std::vector<KeptUsage> kept = {};
};

// Returns the rows of usage_with_never_freed(), divided as leaks_of() does with Vramscope's own
// suppressions. May throw bad_alloc.
[[nodiscard]] std::vector<LeakUsage> usage_with_leaks(const Report& report, const NameFrame& name);

[[nodiscard]] std::uint64_t kept_bytes(const LeakUsage& usage);

}  // namespace vramscope
