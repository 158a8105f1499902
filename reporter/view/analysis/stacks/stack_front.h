// folded() makes the short form of a call stack for rows. It leaves out inner frames
// (inner_frames.h), recursion except one frame, frames of the standard library and of wrappers at
// the front, and frames that begin a thread at the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reporter/view/analysis/diff/stack_match.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

struct Report;
struct Site;

// Inner frames (inner_frames.h) are left out, unless they are needed to distinguish two rows. A
// function that calls itself through at most three others appears once, with the number of its
// frames, and only with its file if its lines differ. Frames with which libraries begin a thread
// and call the program's function are left out at the end.
enum class Inner : bool { left_out, shown };
[[nodiscard]] CallSite folded(const CallSite& stack, Inner inner = Inner::left_out);

// Returns `most` frames of the folded call_site(). No more frames are named than that needs.
[[nodiscard]] CallSite folded_call_site(const Report& report, const Site& site,
                                        const NameFrame& name, std::size_t most);
// Removes frames of the standard library at the front, if another frame remains.
[[nodiscard]] CallSite without_standard_front(CallSite stack);
// Returns folded_call_site() without those frames.
[[nodiscard]] CallSite call_site_in_text(const Report& report, const Site& site,
                                         const NameFrame& name, std::size_t most);

// Returns whether it belongs to the standard library of C++, CUDA's templates or Python.
[[nodiscard]] bool is_of_standard_library(const Caller& caller);

// The properties of a caller that show whether it wraps an allocation.
struct FrontFrame {
  std::uint32_t function = 0;  // number of the function
  std::uint32_t place = 0;     // number of the function with its line
  bool has_name = true;        // false: an address whose function is unknown
  bool is_standard = false;
  bool is_named_so = false;  // its name says that it allocates or makes an object
};

// Numbers callers. Threads: one.
class FrontFrames {
 public:
  // Returns the same number for callers of one function and line.
  std::uint32_t number(const Caller& caller);
  [[nodiscard]] const std::vector<FrontFrame>& all() const { return frames_; }

 private:
  NameNumbers<std::string> functions_;
  NameNumbers<std::string> places_;
  std::vector<FrontFrame> frames_;  // by number
};

// Returns how many frames each stack loses at its front; at least one stays. Stacks are numbers of
// `frames`. Removed are frames of the standard library and wrappers, which allocate at one line and
// are called from several places: they have a wrapper's name, or three functions call them.
[[nodiscard]] std::vector<std::size_t> fronts_of(
    const std::vector<std::vector<std::uint32_t>>& stacks, const std::vector<FrontFrame>& frames);

}  // namespace vramscope
