// KeptMemory tells what of a place's memory stays by design: what suppressions name, and what
// frameworks' caches hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/suppressions.h"

namespace vramscope {

struct KeptPart {
  bool by_cache = false;
  std::size_t row = 0;  // of the suppressions, or with by_cache of framework_caches()
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

// Asks whole stacks, whatever a view has left of them. Caches are asked where the suppressions that
// come with Vramscope hold. The report and the suppressions outlive it. Threads: one.
class KeptMemory {
 public:
  KeptMemory(const Report& report, const Suppressions& suppressions, const NameFrame& name);

  // Parts of the share, which is of live memory; a row each. May throw bad_alloc.
  [[nodiscard]] std::vector<KeptPart> of(const Share& share);
  // Bytes that stay by design.
  [[nodiscard]] std::uint64_t bytes_of(const Share& share);

 private:
  [[nodiscard]] bool add(std::vector<KeptPart>& kept, const std::vector<std::uint32_t>& frames,
                         const SitePart& part, std::uint64_t bytes, std::uint64_t count);

  const Report& report_;
  SuppressedStacks suppressed_;
  std::optional<FrameworkCaches> caches_;  // where they are asked
};

}  // namespace vramscope
