// Inner frames are those between the program's call and the allocation that nobody starts reading
// at: calls of torch.nn.Module, decorators, what lies below JAX's and CuPy's public functions, the
// allocators of frameworks, and functions without names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// By its package and file, or by its namespace.
[[nodiscard]] bool is_inner(const Caller& caller);

// Python's, of a file that is neither a package's nor of Python's own library.
[[nodiscard]] bool is_own_python(const Caller& caller);

// It has one, or is Python's: else it is an address that nobody knows the function of.
[[nodiscard]] inline bool has_name(const Caller& caller) {
  return caller.at.empty() || caller.function != caller.at;
}

// What decides whether a frame stands in a row. Refers to the caller.
struct FrameSort {
  bool is_inner = false;
  bool is_nameless = false;  // of a library; the program's own tell where it was at least
  bool is_python = false;
  bool is_public = false;  // inner, but what the program calls, if that is what called it
  bool is_nested = false;  // inner: a function within another, which decorates what was called
  std::string_view module = {};  // "" of Python
  std::string_view group = {};   // the folder of a package's libraries, which call each other
};
[[nodiscard]] FrameSort sort_of(const Caller& caller);

// Whether rows leave the frame out: it is inner, and no public function that one which is not inner
// called, be it through decorators.
[[nodiscard]] bool is_folded(std::span<const FrameSort> frames, std::size_t at);

struct OuterFrames {
  std::vector<std::size_t> kept;  // indices
  bool is_certain = true;         // no frame behind the last one could change it
};

// Those that are not folded; all of them where nothing else would be left. Of a run of more than
// three functions without names each library shows the one where it was entered first, and none
// where the next function of that library has a name: an exported one, which says what was called.
// are_all: of a whole stack.
[[nodiscard]] OuterFrames outer_frames(std::span<const FrameSort> frames, bool are_all);
[[nodiscard]] OuterFrames outer_frames(const std::vector<Caller>& callers, bool are_all);

}  // namespace vramscope
