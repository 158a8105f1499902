// Call stacks of functions and lines that are typed, and rows of them as they are shown.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reporter/view/listing/site_listing.h"

namespace vramscope {

inline Caller caller(const std::string& full, const std::string& path = "",
                     const std::string& at = "") {
  return {.function = without_signature(full),
          .place = path.substr(path.rfind('/') + 1),
          .full = full,
          .path = path,
          .at = at};
}

inline CallSite stack(std::vector<Caller> callers) {
  return {.entry = "cudaMalloc", .callers = std::move(callers)};
}

// Of "make (a.cpp:1)", a frame each.
inline SharedCallers named(const std::vector<std::string>& frames) {
  SharedCallers callers;
  for (const std::string& frame : frames) {
    const std::size_t place = frame.ends_with(')') ? frame.rfind(" (") : frame.size();
    Caller caller{.function = frame.substr(0, place), .place = ""};
    if (place != frame.size()) caller.place = frame.substr(place + 2, frame.size() - place - 3);
    callers.push_back(std::make_shared<const Caller>(std::move(caller)));
  }
  return callers;
}

inline std::vector<std::string> told(const std::vector<CallSite>& stacks, std::size_t room) {
  std::vector<std::string> texts;
  for (const StackText& one : stack_texts(stacks, room, [&](std::size_t i) { return stacks[i]; })) {
    texts.push_back(one.text);
  }
  return texts;
}

}  // namespace vramscope
