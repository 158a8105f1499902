// Waits are numbered, so that a freed block tells which of them prove that nothing uses it now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/ground/fault.h"

namespace vramscope {

// Waits are numbered as they begin. A free block carries the number of the newest wait that had
// begun when it was freed; one that began later and finished proves it unused. So a free costs no
// count of its own, and numbers wrap only after 2^31 waits: a block that was free for longer is
// waited for once more.
// Threads: one at a time.
class Waits {
 public:
  using Number = std::uint32_t;

  [[nodiscard]] Number begin() { return ++begun_; }
  // The numbered wait succeeded. One that did not begin here is none of ours.
  void end(Number number) {
    if (fault(Fault::later_frees_covered)) number = begin();
    if (!is_after(number, begun_) && is_after(number, finished_)) finished_ = number;
  }

  // What a block carries that is freed now, or that nothing uses already.
  [[nodiscard]] Number now() const { return begun_; }
  [[nodiscard]] Number settled() const { return finished_ - 1; }
  [[nodiscard]] bool cover(Number freed) const { return is_after(finished_, freed); }

  [[nodiscard]] static Number newer(Number a, Number b) { return is_after(a, b) ? a : b; }

 private:
  [[nodiscard]] static bool is_after(Number a, Number b) {
    return static_cast<std::int32_t>(a - b) > 0;
  }

  Number begun_ = 1;
  Number finished_ = 1;
};

}  // namespace vramscope
