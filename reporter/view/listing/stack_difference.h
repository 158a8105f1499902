// Frames as texts, and the first that tells call stacks apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/site_listing.h"

namespace vramscope {

// Columns of a function's name.
inline constexpr std::size_t kLongName = 80;
inline constexpr std::size_t kUsualName = 36;
inline constexpr std::size_t kShortName = 24;
inline constexpr std::size_t kLeastName = 8;

[[nodiscard]] inline std::string in_place(const std::string& name, const std::string& place) {
  return place.empty() ? name : name + " (" + place + ")";
}

[[nodiscard]] inline std::string frame_text(const Caller& caller, std::size_t name_width) {
  return in_place(function_name(caller, name_width), caller.place);
}

// "load_model (m.cpp:1)" in `width` columns where its name can be cut so far.
[[nodiscard]] inline std::string frame_in(const Caller& caller, std::size_t width) {
  const std::size_t taken = columns(in_place("", caller.place));
  const std::size_t name = std::max(kLeastName, width > taken ? width - taken : 0);
  return frame_text(caller, std::min(name, kUsualName));
}

// What of a row is left for a frame that stands behind another.
[[nodiscard]] constexpr std::size_t room_behind_head(std::size_t room) {
  constexpr std::size_t kLeastHead = 16;
  return room - std::min(room / 2, kLeastHead);
}

struct FramesApart {
  std::size_t depth = 0;
  std::vector<std::string> frames;  // there, of each stack; empty: they are the same
  bool in_usual_words = true;
};

// The first depth, in the words that say most at once, at which some of the stacks differ; `room`:
// columns of a row.
[[nodiscard]] FramesApart frames_apart(const std::vector<CallSite>& stacks, std::size_t room);

}  // namespace vramscope
