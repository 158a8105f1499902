// KeptMemory finds the part of a place's memory that stays by design: what suppressions name, and
// what frameworks' caches hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/view/analysis/leaks/framework_caches.h"
#include "reporter/view/analysis/leaks/suppressions.h"
#include "reporter/view/analysis/report_figures.h"

namespace vramscope {

struct KeptPart {
  bool by_cache = false;
  std::size_t row = 0;  // index into the suppressions, or with by_cache into framework_caches()
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

// Uses whole stacks, whatever a view has left of them. Caches are looked for if the suppressions
// include those of Vramscope. The report and the suppressions outlive this object. Threads: one.
class KeptMemory {
 public:
  KeptMemory(const Report& report, const Suppressions& suppressions, const NameFrame& name);

  // Returns the parts of a share of live memory, one for each row. May throw bad_alloc.
  [[nodiscard]] std::vector<KeptPart> of(const Share& share);
  // Returns the same for memory with this SitePart::cache alone.
  [[nodiscard]] std::vector<KeptPart> of(const Share& share,
                                         const std::optional<std::string>& cache);

 private:
  template <class IsIts>
  [[nodiscard]] std::vector<KeptPart> parts_of(const Share& share, IsIts is_its);
  [[nodiscard]] bool add(std::vector<KeptPart>& kept, const std::vector<std::uint32_t>& frames,
                         const SitePart& part, std::uint64_t bytes, std::uint64_t count);

  const Report& report_;
  SuppressedStacks suppressed_;
  std::optional<FrameworkCaches> caches_;  // if caches are looked for
};

}  // namespace vramscope
