// What tells call stacks apart that read alike.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/stack_difference.h"

#include <cstdint>
#include <string_view>

#include "reporter/view/listing/caller_names.h"

namespace vramscope {
namespace {

// `width` columns of the text from before its byte `at` on.
std::string window(const std::string& text, std::size_t at, std::size_t width) {
  const std::size_t before = std::min(at, width / 3);
  std::size_t begin = at - before;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0U) == 0x80U) --begin;
  return (begin == 0 ? "" : "..") + fitted(text.substr(begin), width - (begin == 0 ? 0 : 2));
}

std::size_t first_difference(const std::vector<std::string>& texts) {
  std::size_t at = 0;
  for (;; ++at) {
    for (const std::string& text : texts) {
      if (at >= text.size() || text[at] != texts.front()[at]) return at;
    }
  }
}

// In which words frames are compared: those that say most at once come first.
enum class Words : std::uint8_t { usual, typed, whole_name, path, address };
constexpr Words kAllWords[] = {Words::usual, Words::typed, Words::whole_name, Words::path,
                               Words::address};

// "model.cpp:7, libmodel.so+0x12", as much of it as is known.
std::string place_and_address(const Caller& caller) {
  if (caller.at.empty() || caller.at == caller.place) return caller.place;
  return caller.place.empty() ? caller.at : caller.place + ", " + caller.at;
}

// The line goes where both do not fit.
std::string with_address(const Caller& caller, std::size_t width) {
  const std::string name = function_name(caller, kShortName);
  const std::string text = in_place(name, place_and_address(caller));
  return columns(text) <= width || caller.at.empty() ? text : in_place(name, caller.at);
}

// Frame `depth` of each stack in those words, "" where a stack has ended.
std::vector<std::string> frames_in(Words words, const std::vector<CallSite>& stacks,
                                   std::size_t depth, std::size_t room) {
  const std::size_t width = room_behind_head(room);
  std::vector<std::string> names;
  std::vector<const Caller*> callers;
  for (const CallSite& stack : stacks) {
    callers.push_back(depth < stack.callers.size() ? &stack.callers[depth] : nullptr);
    names.push_back(callers.back() == nullptr ? "" : callers.back()->full);
  }
  const std::size_t differs = words == Words::whole_name ? first_difference(names) : 0;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (callers[i] == nullptr) {
      texts.emplace_back();
      continue;
    }
    const Caller& caller = *callers[i];
    const std::size_t taken = columns(in_place("", caller.place));
    const std::size_t name = std::max(kLeastName, width > taken ? width - taken : 0);
    switch (words) {
      case Words::usual:
        texts.push_back(frame_in(caller, width));
        break;
      case Words::typed:
        texts.push_back(frame_text(caller, name));
        break;
      case Words::whole_name:
        texts.push_back(in_place(window(names[i], differs, name), caller.place));
        break;
      case Words::path:
        texts.push_back(in_place(function_name(caller, kShortName), caller.path));
        break;
      case Words::address:
        texts.push_back(with_address(caller, depth == 0 ? room : width));
        break;
    }
  }
  return texts;
}

}  // namespace

FramesApart frames_apart(const std::vector<CallSite>& stacks, std::size_t room) {
  std::size_t deepest = 0;
  for (const CallSite& stack : stacks) deepest = std::max(deepest, stack.callers.size());
  for (const Words words : kAllWords) {
    for (std::size_t depth = 0; depth < deepest; ++depth) {
      std::vector<std::string> frames = frames_in(words, stacks, depth, room);
      const auto differs = [&](const std::string& frame) { return frame != frames.front(); };
      if (std::any_of(frames.begin(), frames.end(), differs)) {
        return {depth, std::move(frames), words == Words::usual};
      }
    }
  }
  return {};
}

}  // namespace vramscope
