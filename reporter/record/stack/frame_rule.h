// A frame rule says how one frame of a stack is left: where its caller's frame lies, and where it
// returns to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vramscope {

// Of the frame that a call returns to. CFA: the caller's stack pointer, as unwind tables have it;
// the frame's own return address lies in the word below.
struct FrameRule {
  enum class Kind : std::uint8_t {
    unknown,           // nobody has asked yet
    odd,               // it depends on more than the two pointers: only a full walk tells
    last,              // nobody called it
    by_stack_pointer,  // CFA = stack pointer + cfa
    by_frame_pointer,  // CFA = frame pointer + cfa
    by_frame_word,     // CFA = the word at frame pointer - cfa; the frame pointer points to its
                       // caller's: a stack that was aligned anew
  };
  Kind kind = Kind::unknown;
  std::uint32_t cfa = 0;          // bytes
  std::uint32_t saved_below = 0;  // the caller's frame pointer lies so far below the CFA; 0: it is
                                  // the frame's own
};

}  // namespace vramscope
