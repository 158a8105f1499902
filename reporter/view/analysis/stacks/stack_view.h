// StackView says which frames of stacks are shown: Python's, native ones, or both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/analysis/stacks/stacks_shown.h"

namespace vramscope {

struct Report;

enum class StackView : std::uint8_t {
  usual,        // of stacks with Python in them its frames, of others the native ones
  with_native,  // Python's and those of native code, without the interpreter's own
  python_only,
  native_only,  // with the interpreter's own
};

struct StackChoice {
  StackView view = StackView::usual;
  bool by_line = false;  // Python frames but for the innermost are left out
  Stacks shown = Stacks::in_rows;
};

// Leaves the frames that are wanted (and those of CUDA's libraries, which tell what was called) in
// every stack. Sites whose stacks have become equal by that become one: not with native frames.
// Gives the index that each site has now, by its index before. May throw bad_alloc.
std::vector<std::size_t> choose_frames(Report& report, const StackChoice& choice);

// Sites with memory that is live become one where each frame of theirs has the same name, file and
// line: a compiler makes several calls of one line when it unrolls a loop. May throw bad_alloc.
void join_alike_leaks(Report& report, const NameFrame& name);

}  // namespace vramscope
