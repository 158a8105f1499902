// Waits are numbered, so that a freed block says which of them prove that nothing uses it now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/fault.h"

namespace vramscope {

// A wait gets its number when it begins. A free block carries the number of the newest wait that
// had begun when it was freed; a later wait that finished proves the block unused. So a free needs
// no number of its own. Numbers wrap after 2^31 waits; a block that was free for longer is waited
// for once more.
// Threads: one at a time.
class Waits {
 public:
  using Number = std::uint32_t;

  [[nodiscard]] Number begin() { return ++begun_; }
  // Notes that the numbered wait succeeded. Ignores a number that did not begin here.
  void end(Number number) {
    if (fault(Fault::later_frees_covered)) number = begin();
    if (!is_after(number, begun_) && is_after(number, finished_)) finished_ = number;
  }

  // The numbers for a block that is freed now, and for one that nothing uses already.
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
