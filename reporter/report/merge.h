// Merger adds reports of several processes up to one report, a report at a time. FORMAT.md says of
// each field what becomes of it ("Merged reports").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace vramscope {

struct Report;

// What it makes depends only on which reports were added, not on their order, nor on which of them
// had been merged before. Threads: one. All may throw bad_alloc.
class Merger {
 public:
  Merger();
  ~Merger();
  Merger(Merger&&) noexcept;
  Merger& operator=(Merger&&) noexcept;

  // One that was merged counts as those that it was made of. Its lists may be taken.
  void add(Report&& report);
  // Of all that was added. Call it once.
  [[nodiscard]] Report finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace vramscope
