// What the row of a call stack leaves out: frames that nobody starts reading at (inner_frames.h),
// recursion but for one frame, those of the standard library and of wrappers at its front, and
// those that begin a thread at its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reporter/view/analysis/diff/row_match.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;
struct Site;

// Inner frames (inner_frames.h) are left out, unless they are to tell two rows apart. A function
// that calls itself, over at most three others, stands there once, with how many times it was
// there; with the file alone where its lines differ. Frames by which libraries begin a thread, and
// call what the program gave them for it, are left out at its end.
enum class Inner : bool { left_out, shown };
[[nodiscard]] CallSite folded(const CallSite& stack, Inner inner = Inner::left_out);

// call_site(), folded: `most` frames of that, and more are not named than that takes.
[[nodiscard]] CallSite folded_call_site(const Report& report, const Site& site,
                                        const NameFrame& name, std::size_t most);
// Without frames of the standard library at its front, if there is another one.
[[nodiscard]] CallSite without_standard_front(CallSite stack);
// folded_call_site(), without them.
[[nodiscard]] CallSite call_site_in_text(const Report& report, const Site& site,
                                         const NameFrame& name, std::size_t most);

// Of C++, CUDA's templates, or Python.
[[nodiscard]] bool is_of_standard_library(const Caller& caller);

// What of a caller tells whether it wraps an allocation.
struct FrontFrame {
  std::uint32_t function = 0;  // number of the function
  std::uint32_t place = 0;     // of it and its line
  bool has_name = true;        // else it is an address, of nobody knows which function
  bool is_standard = false;
  bool is_named_so = false;  // it says that it allocates, or makes an object
};

// Numbers callers. Threads: one.
class FrontFrames {
 public:
  // The same number for callers of one function and line.
  std::uint32_t number(const Caller& caller);
  [[nodiscard]] const std::vector<FrontFrame>& all() const { return frames_; }

 private:
  NameNumbers<std::string> functions_;
  NameNumbers<std::string> places_;
  std::vector<FrontFrame> frames_;  // by number
};

// How many frames each stack, of numbers of `frames`, loses at its front; one at least stays. Those
// of the standard library; wrappers, which allocate at one line and are called from several: they
// are named so, or three functions call them.
[[nodiscard]] std::vector<std::size_t> fronts_of(
    const std::vector<std::vector<std::uint32_t>>& stacks, const std::vector<FrontFrame>& frames);

}  // namespace vramscope
