// A call stack in the room of a table's row: the innermost frame, frames that it is to show, and as
// many others as fit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

inline constexpr std::string_view kCalledBy = " < ";
inline constexpr std::string_view kMoreFrames = " < ..";

struct ChosenFrame {
  std::string text = {};
  bool may_be_shorter = true;  // "main:64" for "main (train.py:64)" tells as much
};
using ChosenFrames = std::map<std::size_t, ChosenFrame>;  // by depth

// What a row may lose so that its chosen frames have room.
enum class Loses : std::uint8_t {
  no_place,       // of the innermost frame
  any_but_names,  // that place too
};

// "make (a.cpp:1) < .. < load (d.cpp:9)": the innermost frame, which always stays, with its place
// where the chosen frames leave room for that; "" where there is no room for all of them.
[[nodiscard]] std::string row_with(const CallSite& stack, const ChosenFrames& chosen,
                                   std::size_t room, Loses loses);

// The depth of the first frame that is not of a library's header or package; 0 where all are.
[[nodiscard]] std::size_t first_own_frame(const CallSite& stack);

}  // namespace vramscope
