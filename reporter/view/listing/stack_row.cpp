// Puts call stacks into the room of a row.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/stack_row.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/listing/stack_difference.h"

namespace vramscope {
namespace {

std::string joined(const CallSite& site, std::size_t most, std::size_t name_width) {
  std::string text;
  for (std::size_t i = 0; i < most; ++i) {
    if (i != 0) text += kCalledBy;
    text += frame_text(site.callers[i], name_width);
  }
  return site.callers.size() > most ? text.append(kMoreFrames) : text;
}

using FrameTexts = std::map<std::size_t, std::string>;  // by depth

// "make (a.cpp:1) < .. < load (d.cpp:9)".
std::string joined(const FrameTexts& frames) {
  std::string text;
  std::size_t next = 0;
  for (const auto& [depth, frame] : frames) {
    if (depth != next) text.append(kMoreFrames);
    if (!text.empty()) text.append(kCalledBy);
    text += frame;
    next = depth + 1;
  }
  return text;
}

// A frame whose place may go before the frame does.
std::array<std::string, 3> forms_of(const Caller& caller) {
  return {frame_text(caller, kUsualName), frame_text(caller, kShortName),
          function_name(caller, kShortName)};
}

// Adds frames to the row, as long as there is room: those that called the innermost one, and those
// that called the last. `most`: frames.
std::string filled(const CallSite& stack, FrameTexts frames, std::size_t most, std::size_t room) {
  const std::size_t size = stack.callers.size();
  const auto is_there = [&](std::size_t depth, std::size_t behind) {
    if (frames.contains(depth)) return true;
    for (const std::string& form : forms_of(stack.callers[depth])) {
      FrameTexts more = frames;
      more[depth] = form;
      if (columns(joined(more)) + behind > room) continue;
      frames = std::move(more);
      return true;
    }
    return false;
  };
  std::size_t last = frames.rbegin()->first;
  for (std::size_t depth = 1; depth < last && is_there(depth, 0);) ++depth;
  while (last + 1 < std::min(size, most)) {
    if (!is_there(last + 1, last + 2 < size ? kMoreFrames.size() : 0)) break;
    ++last;
  }
  std::string text = joined(frames);
  const bool is_whole = last + 1 >= size || columns(text) + kMoreFrames.size() > room;
  return is_whole ? text : text.append(kMoreFrames);
}

// "main:64".
std::string with_line(const Caller& caller, std::size_t width) {
  const std::size_t line = caller.place.rfind(':');
  if (line == std::string::npos) return function_name(caller, width);
  Caller once = caller;
  once.times = 1;
  return function_name(once, width) + caller.place.substr(line) + times_text(caller);
}

// Of the innermost frame, the best first.
std::vector<std::string> heads_of(const CallSite& stack, Loses loses) {
  const Caller& first = stack.callers.front();
  const std::size_t whole = columns(function_name(first, kShortName));
  const std::size_t least = std::max(kLeastName, (whole * 3 + 3) / 4);  // further it says nothing
  std::vector<std::string> heads;
  if (first_own_frame(stack) == 0) {
    for (const std::size_t width : {kUsualName, kShortName, least}) {
      heads.push_back(frame_text(first, width));
    }
    if (loses == Loses::no_place) return heads;
    for (const std::size_t width : {kShortName, least}) heads.push_back(with_line(first, width));
  }
  for (const std::size_t width : {kShortName, least, kLeastName}) {
    heads.push_back(function_name(first, width));
  }
  return heads;
}

enum class ShownPlaces : std::uint8_t { all, of_last, line_of_last };

// "log_metrics (train.py:35), main (train.py:64)", "log_metrics, main (train.py:64)",
// "log_metrics, main:64".
FrameTexts frames_with(ShownPlaces places, const CallSite& stack, const ChosenFrames& chosen) {
  FrameTexts frames;
  for (const auto& [depth, frame] : chosen) {
    const bool is_last = depth == chosen.rbegin()->first;
    const bool is_whole = !frame.may_be_shorter || places == ShownPlaces::all ||
                          (is_last && places == ShownPlaces::of_last);
    const Caller& caller = stack.callers[depth];
    frames[depth] = is_whole  ? frame.text
                    : is_last ? with_line(caller, kShortName)
                              : function_name(caller, kShortName);
  }
  return frames;
}

bool is_of_a_library(const Caller& caller) {
  constexpr std::string_view kNames[] = {"std::", "__gnu_cxx::", "thrust::", "cub::"};
  constexpr std::string_view kPackages[] = {"/site-packages/", "/dist-packages/"};
  return caller.path.starts_with("/usr/") ||
         std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view begin) { return caller.function.starts_with(begin); }) ||
         std::any_of(std::begin(kPackages), std::end(kPackages), [&](std::string_view folder) {
           return caller.path.find(folder) != std::string::npos;
         });
}

}  // namespace

std::size_t first_own_frame(const CallSite& stack) {
  const auto own = std::find_if_not(stack.callers.begin(), stack.callers.end(), is_of_a_library);
  return own == stack.callers.end() ? 0 : static_cast<std::size_t>(own - stack.callers.begin());
}

std::string row_with(const CallSite& stack, const ChosenFrames& chosen, std::size_t room,
                     Loses loses) {
  std::vector<std::string> heads = heads_of(stack, loses);
  if (const auto innermost = chosen.find(0); innermost != chosen.end()) {
    heads = {innermost->second.text};
  }
  // Of a library's frame the name may become shorter before the others lose anything.
  const bool is_own = first_own_frame(stack) == 0;
  constexpr ShownPlaces kPlaces[] = {ShownPlaces::all, ShownPlaces::of_last,
                                     ShownPlaces::line_of_last};
  for (std::size_t i = 0; i < heads.size() * std::size(kPlaces); ++i) {
    const std::size_t of_head = is_own ? i / std::size(kPlaces) : i % heads.size();
    const std::size_t of_places = is_own ? i % std::size(kPlaces) : i / heads.size();
    FrameTexts frames = frames_with(kPlaces[of_places], stack, chosen);
    frames[0] = heads[of_head];
    if (columns(joined(frames)) <= room) return filled(stack, frames, kFramesInRow, room);
  }
  return "";
}

std::string stack_text(const CallSite& site, std::size_t room, std::size_t most) {
  if (site.callers.empty()) return "unknown";
  most = std::min(most, site.callers.size());
  for (const std::size_t width : {kLongName, kUsualName}) {
    std::string text = joined(site, most, width);
    if (columns(text) <= room) return text;
  }
  const Caller& first = site.callers.front();
  const std::size_t after = site.callers.size() > 1 ? kMoreFrames.size() : 0;
  const std::size_t taken = columns(in_place("", first.place)) + after;
  const std::size_t left = room > taken ? room - taken : 0;
  return filled(site, {{0, frame_text(first, std::clamp(left, kLeastName, kLongName))}}, most,
                room);
}

}  // namespace vramscope
