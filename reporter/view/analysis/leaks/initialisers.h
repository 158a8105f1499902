// Initialisers finds the call sites that allocated before main began.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;
struct Site;

// Finds the sites that allocated below an initialiser: a function that the compiler made to
// initialise a file's variables, and the loader that calls it. Each frame is named once, since
// sites share most frames. The report and `name` outlive this object. Threads: one.
class Initialisers {
 public:
  Initialisers(const Report& report, const NameFrame& name);

  [[nodiscard]] bool are_above(const Site& site);  // may throw bad_alloc

 private:
  enum class Found : std::uint8_t { neither, main, initialiser };
  [[nodiscard]] Found look_at(const FrameFact& frame) const;

  const Report& report_;
  const NameFrame& name_;
  std::vector<std::optional<Found>> known_;  // by frame
};

}  // namespace vramscope
