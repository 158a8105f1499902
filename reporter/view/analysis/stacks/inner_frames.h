// Inner frames lie between the program's call and the allocation, and are of no interest to
// readers: calls of torch.nn.Module, decorators, code below JAX's and CuPy's public functions, the
// allocators of frameworks, and functions without names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// Decides by the caller's package and file, or by its namespace.
[[nodiscard]] bool is_inner(const Caller& caller);

// Returns whether it is Python code from a file that belongs to no package and not to Python's own
// library.
[[nodiscard]] bool is_own_python(const Caller& caller);

// Returns whether it has a name, or is Python's. Otherwise it is an address whose function is
// unknown.
[[nodiscard]] inline bool has_name(const Caller& caller) {
  return caller.at.empty() || caller.function != caller.at;
}

// What decides whether a row shows a frame. Refers to the caller.
struct FrameSort {
  bool is_inner = false;
  bool is_nameless = false;  // in a library; nameless frames of the program at least show their
                             // position
  bool is_python = false;
  bool is_public = false;  // inner, but a public function, which is shown if the program called it
  bool is_nested = false;  // inner: a nested function, which decorates the called one
  std::string_view module = {};  // "" for Python
  std::string_view group = {};   // the folder of a package's libraries, which call each other
};
[[nodiscard]] FrameSort sort_of(const Caller& caller);

// Returns whether rows leave the frame out: it is inner, and not a public function that a frame
// that is not inner called, directly or through decorators.
[[nodiscard]] bool is_folded(std::span<const FrameSort> frames, std::size_t at);

struct OuterFrames {
  std::vector<std::size_t> kept;  // indices
  bool is_certain = true;         // later frames could not change the result
};

// Returns the frames that are not folded, or all of them if nothing else would be left. Of a run of
// more than three functions without names, each library shows the one at which it was entered, and
// none if the library's next function has a name: an exported function, which says what was called.
// are_all: the frames are a whole stack.
[[nodiscard]] OuterFrames outer_frames(std::span<const FrameSort> frames, bool are_all);
[[nodiscard]] OuterFrames outer_frames(const std::vector<Caller>& callers, bool are_all);

}  // namespace vramscope
