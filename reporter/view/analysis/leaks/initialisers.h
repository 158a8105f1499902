// Initialisers tells which call sites allocated before main began.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;
struct Site;

// Which sites allocated below an initialiser: of the compilers' functions that initialise a file's
// variables, and of the loader that calls them. Frames are named once: sites share most of theirs.
// The report and `name` outlive it. Threads: one.
class Initialisers {
 public:
  Initialisers(const Report& report, const NameFrame& name);

  [[nodiscard]] bool are_above(const Site& site);  // may throw bad_alloc

 private:
  enum class Found : std::uint8_t { neither, main, initialiser };
  [[nodiscard]] Found look_at(const FrameFact& frame) const;

  const Report& report_;
  const NameFrame& name_;
  std::vector<std::optional<Found>> known_;  // of each frame
};

}  // namespace vramscope
