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
  usual,        // Python frames of stacks that have them, else native ones
  with_native,  // Python frames and native code, without the interpreter's own frames
  python_only,
  native_only,  // including the interpreter's own frames
};

struct StackChoice {
  StackView view = StackView::usual;
  bool by_line = false;  // Python frames except the innermost are left out
  Stacks shown = Stacks::in_rows;
};

// Keeps the wanted frames (and those of CUDA's libraries, which show what was called) in every
// stack. Sites whose stacks become equal are joined, except with native frames. Returns the present
// index of each site, by its former index. May throw bad_alloc.
std::vector<std::size_t> choose_frames(Report& report, const StackChoice& choice);

// Joins sites with live memory if all their frames have equal names, files and lines: a compiler
// makes several calls of one line when it unrolls a loop. May throw bad_alloc.
void join_alike_leaks(Report& report, const NameFrame& name);

}  // namespace vramscope
