// FrameRule says how a walk leaves one frame of a stack: where the caller's frame lies, and where
// the frame returns to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// The rule for the frame to which a call returns. CFA: the caller's stack pointer, as in unwind
// tables. The frame's return address lies in the word below the CFA.
struct FrameRule {
  enum class Kind : std::uint8_t {
    unknown,  // the rule was not looked up yet
    odd,      // it depends on more than the two pointers: only a full walk can leave the frame
    last,     // the frame has no caller
    by_stack_pointer,  // CFA = stack pointer + cfa
    by_frame_pointer,  // CFA = frame pointer + cfa
    by_frame_word,     // CFA = the word at frame pointer - cfa; the frame pointer points to the
                       // caller's one: a realigned stack
  };
  Kind kind = Kind::unknown;
  std::uint32_t cfa = 0;          // bytes
  std::uint32_t saved_below = 0;  // bytes from the CFA down to the caller's frame pointer; 0: it is
                                  // the frame's own one
};

}  // namespace vramscope
