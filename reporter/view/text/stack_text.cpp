// Call stacks as texts: in the room of a table's row, and told apart.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "reporter/view/text/site_listing.h"
#include "reporter/view/text/stack_difference.h"

namespace vramscope {
namespace {

constexpr std::size_t kLeastHead = 14;  // of what stands before the frame that differs
constexpr std::string_view kBefore = " < ";
constexpr std::string_view kMore = " < ..";

std::string joined(const CallSite& site, std::size_t most, std::size_t name_width) {
  std::string text;
  for (std::size_t i = 0; i < most; ++i) {
    if (i != 0) text += kBefore;
    text += frame_text(site.callers[i], name_width);
  }
  return site.callers.size() > most ? text.append(kMore) : text;
}

// The innermost frame without its place and its caller, where they fit; else `text` and that more
// called it.
std::string first_two(const CallSite& site, std::string text, std::size_t room) {
  const std::string innermost = function_name(site.callers[0], kShortName) + std::string(kBefore);
  const std::string_view more = site.callers.size() > 2 ? kMore : "";
  const Caller& caller = site.callers[1];
  for (const std::string& form :
       {frame_text(caller, kShortName), function_name(caller, kShortName)}) {
    if (columns(innermost) + columns(form) + more.size() > room) continue;
    return (innermost + form).append(more);
  }
  return text.append(kMore);
}

// The innermost frame and as many of those that called it as there is room for, the last of them
// without its place if need be, and the innermost without its own before no caller is there.
std::string as_many_as_fit(const CallSite& site, std::size_t most, std::size_t room) {
  const Caller& first = site.callers.front();
  const std::size_t after = site.callers.size() > 1 ? kMore.size() : 0;
  const std::size_t taken = columns(in_place("", first.place)) + after;
  const std::size_t left = room > taken ? room - taken : 0;
  std::string text = frame_text(first, std::clamp(left, kLeastName, kLongName));
  for (std::size_t i = 1; i < most; ++i) {
    const std::size_t behind = i + 1 < site.callers.size() ? kMore.size() : 0;
    const Caller& caller = site.callers[i];
    std::string next;
    for (const std::string& form : {frame_text(caller, kUsualName), frame_text(caller, kShortName),
                                    function_name(caller, kShortName)}) {
      if (columns(text) + kBefore.size() + columns(form) + behind > room) continue;
      next = std::string(kBefore) + form;
      break;
    }
    if (next.empty()) return i == 1 ? first_two(site, text, room) : text.append(kMore);
    text += next;
  }
  return site.callers.size() > most ? text.append(kMore) : text;
}

// `text` and as many of those that called frame `last`, which it ends with, as there is room for.
std::string with_callers(std::string text, const CallSite& stack, std::size_t last,
                         std::size_t room) {
  const std::size_t end = std::min(stack.callers.size(), kFramesInRow);
  for (std::size_t i = last + 1; i < end; ++i) {
    const std::string next = std::string(kBefore) + frame_text(stack.callers[i], kShortName);
    const std::size_t behind = i + 1 < stack.callers.size() ? kMore.size() : 0;
    if (columns(text) + columns(next) + behind > room) break;
    text += next;
    last = i;
  }
  const bool is_whole = last + 1 >= stack.callers.size();
  return is_whole || columns(text) + kMore.size() > room ? text : text.append(kMore);
}

// `frame` is the text of the frames from `depth` to `last`; before them the innermost, where there
// is room.
std::string with_difference(const CallSite& stack, std::size_t depth, const std::string& frame,
                            std::size_t last, std::size_t room) {
  if (depth == 0) return frame;
  const std::size_t tail = columns(frame) + kBefore.size();
  const std::size_t left = room > tail ? room - tail : 0;
  const std::string_view more = depth > 1 ? kMore : "";
  const Caller& innermost = stack.callers.front();
  const std::size_t whole = columns(function_name(innermost, kShortName));
  const std::size_t least = (whole * 3 + 3) / 4 + more.size();  // cut further it says nothing
  if (left < least) {
    return with_callers(std::string("..").append(kBefore) + frame, stack, last, room);
  }
  CallSite head{.entry = stack.entry, .callers = stack.callers};
  head.callers.resize(std::min(depth, head.callers.size()));
  std::string text = function_name(innermost, std::min(left - more.size(), kShortName));
  text += more;
  if (left >= least + columns(in_place("", innermost.place))) {
    text = stack_text(head, left, kFramesInRow);
  }
  return text.append(kBefore) + frame;
}

using ChosenFrames = std::map<std::size_t, std::string>;  // frames by depth

enum class ShownPlaces : std::uint8_t { all, of_last, line_of_last };

// "main:64".
std::string with_line(const Caller& caller) {
  const std::size_t line = caller.place.rfind(':');
  return function_name(caller, kShortName) +
         (line == std::string::npos ? "" : caller.place.substr(line));
}

// "log_metrics (train.py:35) < .. < main (train.py:64)", "log_metrics < .. < main (train.py:64)",
// "log_metrics < .. < main:64".
std::string joined(const CallSite& stack, const ChosenFrames& chosen, ShownPlaces places) {
  std::string text;
  std::size_t before = 0;
  for (const auto& [depth, frame] : chosen) {
    if (!text.empty()) text.append(depth == before + 1 ? "" : kMore).append(kBefore);
    before = depth;
    const bool is_last = depth == chosen.rbegin()->first;
    const Caller& caller = stack.callers[depth];
    if (places == ShownPlaces::all || (is_last && places == ShownPlaces::of_last)) {
      text += frame;
    } else {
      text += is_last ? with_line(caller) : function_name(caller, kShortName);
    }
  }
  return text;
}

// "" where there is no room for all of them.
std::string all_of(const CallSite& stack, const ChosenFrames& chosen, std::size_t room) {
  const std::size_t first = chosen.begin()->first;
  const std::size_t head = first == 0 ? 0 : kLeastName;
  for (const ShownPlaces places :
       {ShownPlaces::all, ShownPlaces::of_last, ShownPlaces::line_of_last}) {
    const std::string frames = joined(stack, chosen, places);
    if (columns(frames) + head > room) continue;
    return with_difference(stack, first, frames, chosen.rbegin()->first, room);
  }
  return "";
}

// With all the frames that were chosen, as far as there is room for them, and with the one that
// called the innermost: that is often a helper, which says little.
std::string with_differences(const CallSite& stack, const ChosenFrames& chosen, std::size_t room) {
  const auto& [last, frame] = *chosen.rbegin();
  const std::string least = with_difference(stack, last, frame, last, room);
  const bool has_caller =
      last <= 1 || least.find(function_name(stack.callers[1], kShortName)) != std::string::npos;
  if (chosen.size() == 1 && has_caller) return least;
  ChosenFrames more = chosen;
  more.try_emplace(1, frame_text(stack.callers[1], kShortName));
  for (const ChosenFrames& frames : {more, chosen}) {
    if (frames.size() == 1) break;
    if (std::string text = all_of(stack, frames, room); !text.empty()) return text;
  }
  const std::string told =
      ".." + std::string(kBefore) + joined(stack, chosen, ShownPlaces::line_of_last);
  return chosen.size() > 1 && columns(told) <= room ? told : least;
}

class Telling {
 public:
  Telling(std::size_t room, const std::function<CallSite(std::size_t)>& whole,
          std::vector<std::string>& texts)
      : room_(room), whole_(whole), texts_(texts), chosen_(texts.size()), told_by_(texts.size()) {}

  // Rows that begin in one function have a helper there, which says little: shows of each the first
  // frame that calls it from another function than in other rows. `stacks`: of each row, at least
  // as many frames as a row may show, and of others behind them.
  void show_callers(const std::vector<CallSite>& stacks) {
    std::map<std::string, std::vector<std::size_t>> by_function;
    for (std::size_t row = 0; row < stacks.size(); ++row) {
      if (!stacks[row].callers.empty()) by_function[function_at(stacks[row], 0)].push_back(row);
    }
    for (const auto& [function, group] : by_function) {
      const std::size_t depth = first_other_function(stacks, group);
      for (const std::size_t row : group) {
        if (row < texts_.size()) show(stacks[row], row, depth);
      }
    }
  }

  // Shows of each row the first frame that is wanted.
  void show_wanted(const std::vector<CallSite>& stacks,
                   const std::function<bool(const Caller&)>& is_wanted) {
    for (std::size_t row = 0; row < stacks.size(); ++row) {
      const std::vector<Caller>& callers = stacks[row].callers;
      const auto found = std::find_if(callers.begin(), callers.end(), is_wanted);
      show(stacks[row], row, static_cast<std::size_t>(found - callers.begin()));
    }
  }

  // The first frame that was to be seen in the row beside the innermost; 0: none was.
  [[nodiscard]] std::size_t told_by(std::size_t row) const { return told_by_[row]; }

  // Tells those of the rows apart that read alike.
  void tell(const std::vector<std::size_t>& rows) {
    std::map<std::string, std::vector<std::size_t>> alike;
    for (const std::size_t row : rows) alike[texts_[row]].push_back(row);
    for (const auto& [text, group] : alike) {
      if (group.size() > 1 && tell_group(group)) tell(group);
    }
  }

 private:
  static std::string function_at(const CallSite& stack, std::size_t depth) {
    if (depth >= stack.callers.size()) return "";
    return stack.callers[depth].function;
  }

  // The depth at which the group's stacks are in several functions; beyond all of them where they
  // never are.
  static std::size_t first_other_function(const std::vector<CallSite>& stacks,
                                          const std::vector<std::size_t>& group) {
    for (std::size_t depth = 1; depth < kFramesInRow; ++depth) {
      const std::string first = function_at(stacks[group.front()], depth);
      const auto is_other = [&](std::size_t row) {
        return function_at(stacks[row], depth) != first;
      };
      if (std::any_of(group.begin(), group.end(), is_other)) return depth;
    }
    return kFramesInRow;
  }

  // The frame at this depth, where there is one and the row does not show it yet.
  void show(const CallSite& stack, std::size_t row, std::size_t depth) {
    if (depth == 0 || depth >= stack.callers.size()) return;
    if (told_by_[row] == 0) told_by_[row] = depth;
    const Caller& caller = stack.callers[depth];
    const std::string short_name = function_name(caller, kShortName);
    if (texts_[row].find(std::string(kBefore) + short_name) != std::string::npos) return;
    constexpr std::size_t kNothingBefore = 5;  // ".. < "
    chosen_[row][depth] = frame_in(caller, room_ - std::min(room_ / 2, kNothingBefore));
    texts_[row] = with_difference(stack, depth, chosen_[row][depth], depth, room_);
  }

  // Whether some of them read differently now.
  bool tell_group(const std::vector<std::size_t>& group) {
    std::vector<CallSite> stacks;
    for (const std::size_t row : group) stacks.push_back(whole_(row));
    const FramesApart difference = frames_apart(stacks, room_ - std::min(room_ / 2, kLeastHead));
    if (difference.frames.empty()) return false;
    bool told = false;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::string& frame = difference.frames[i];  // "" where its stack has ended
      ChosenFrames& chosen = chosen_[group[i]];
      if (!frame.empty()) chosen[difference.depth] = frame;
      if (!frame.empty() && told_by_[group[i]] == 0) told_by_[group[i]] = difference.depth;
      texts_[group[i]] = chosen.empty() ? stack_text(stacks[i], room_)
                                        : with_differences(stacks[i], chosen, room_);
      told = told || texts_[group[i]] != texts_[group[0]];
    }
    return told;
  }

  std::size_t room_;
  const std::function<CallSite(std::size_t)>& whole_;
  std::vector<std::string>& texts_;
  std::vector<ChosenFrames> chosen_;  // of each row, what tells it from others
  std::vector<std::size_t> told_by_;
};

// "make (a.cpp:1)" in its parts; of a frame without a place in one.
Caller read_frame(const std::string& frame) {
  const std::size_t place = frame.ends_with(')') ? frame.rfind(" (") : frame.npos;
  if (place == frame.npos) return {.function = frame, .place = ""};
  return {.function = frame.substr(0, place),
          .place = frame.substr(place + 2, frame.size() - place - 3)};
}

}  // namespace

std::string stack_text(const CallSite& site, std::size_t room, std::size_t most) {
  if (site.callers.empty()) return "unknown";
  most = std::min(most, site.callers.size());
  for (const std::size_t width : {kLongName, kUsualName}) {
    std::string text = joined(site, most, width);
    if (columns(text) <= room) return text;
  }
  return as_many_as_fit(site, most, room);
}

std::vector<StackText> stack_texts(const std::vector<CallSite>& sites, std::size_t room,
                                   const std::function<CallSite(std::size_t)>& whole,
                                   const StacksShown& shown) {
  std::vector<std::string> texts;
  for (const CallSite& site : sites) texts.push_back(stack_text(site, room));
  std::vector<std::size_t> rows(sites.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  Telling telling(std::min<std::size_t>(room, 2 * kLongName), whole, texts);
  if (shown.is_wanted) telling.show_wanted(sites, shown.is_wanted);
  std::vector<CallSite> all = sites;
  all.insert(all.end(), shown.beside.begin(), shown.beside.end());
  telling.show_callers(all);
  telling.tell(rows);
  std::vector<StackText> told;
  for (const std::size_t row : rows) {
    told.push_back({.text = std::move(texts[row]), .told_by = telling.told_by(row)});
  }
  return told;
}

std::vector<std::string> stack_texts(const std::vector<std::vector<std::string>>& stacks,
                                     std::size_t room,
                                     const std::vector<std::vector<std::string>>& beside) {
  const auto read = [](const std::vector<std::vector<std::string>>& texts) {
    std::vector<CallSite> sites(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (const std::string& frame : texts[i]) sites[i].callers.push_back(read_frame(frame));
    }
    return sites;
  };
  const std::vector<CallSite> sites = read(stacks);
  std::vector<std::string> texts;
  for (StackText& told : stack_texts(sites, room, [&](std::size_t i) { return sites[i]; },
                                     {.is_wanted = {}, .beside = read(beside)})) {
    texts.push_back(std::move(told.text));
  }
  return texts;
}

}  // namespace vramscope
