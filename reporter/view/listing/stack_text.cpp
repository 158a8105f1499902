// Call stacks as texts: in the room of a table's row, and told apart.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/listing/stack_difference.h"
#include "reporter/view/listing/stack_row.h"

namespace vramscope {
namespace {

constexpr std::string_view kVia = " via ";

// How much of a stack is looked at: what rows show, inner frames too, all.
enum class Depth : std::uint8_t { folded, with_inner, whole };
using WholeStack = std::function<CallSite(std::size_t row, Depth)>;

class Telling {
 public:
  Telling(std::size_t room, const WholeStack& whole, std::vector<std::string>& texts)
      : page_room_(room),
        room_(std::min<std::size_t>(room, 2 * kLongName)),
        whole_(whole),
        texts_(texts),
        chosen_(texts.size()),
        via_(texts.size()),
        told_by_(texts.size()) {}

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
        if (row < texts_.size()) show(stacks[row], row, depth, Loses::no_place);
      }
    }
  }

  // Of rows whose innermost frame is a library's the program's own is shown, which says more.
  void show_own(const std::vector<CallSite>& stacks) {
    for (std::size_t row = 0; row < stacks.size(); ++row) {
      show(stacks[row], row, first_own_frame(stacks[row]), Loses::any_but_names);
    }
  }

  // Shows of each row the first frame that is wanted.
  void show_wanted(const std::vector<CallSite>& stacks,
                   const std::function<bool(const Caller&)>& is_wanted) {
    for (std::size_t row = 0; row < stacks.size(); ++row) {
      const std::vector<Caller>& callers = stacks[row].callers;
      const auto found = std::find_if(callers.begin(), callers.end(), is_wanted);
      const auto depth = static_cast<std::size_t>(found - callers.begin());
      show(stacks[row], row, depth, Loses::any_but_names);
      if (found == callers.end()) show_wanted_inner(stacks[row], row, is_wanted);
    }
  }

  // The first frame that was to be seen in the row beside the innermost; 0: none was.
  [[nodiscard]] std::size_t told_by(std::size_t row) const { return told_by_[row]; }

  // Tells those of the rows apart that read alike.
  void tell(const std::vector<std::size_t>& rows) {
    std::map<std::string, std::vector<std::size_t>> alike;
    for (const std::size_t row : rows) alike[text_of(row)].push_back(row);
    for (const auto& [text, group] : alike) {
      if (group.size() > 1 && tell_group(group)) tell(group);
    }
  }

  // "load (c.cpp:7) < .. via batched_device_put (pxla.py:258)", with an inner frame that tells it
  // from others.
  [[nodiscard]] std::string text_of(std::size_t row) const { return texts_[row] + via_[row]; }

 private:
  static std::string function_at(const CallSite& stack, std::size_t depth) {
    if (depth >= stack.callers.size()) return "";
    return stack.callers[depth].function;
  }

  // The depth at which the group's stacks are in several functions; 0 where they never are.
  static std::size_t first_other_function(const std::vector<CallSite>& stacks,
                                          const std::vector<std::size_t>& group) {
    for (std::size_t depth = 1; depth < kFramesInRow; ++depth) {
      const std::string first = function_at(stacks[group.front()], depth);
      const auto is_other = [&](std::size_t row) {
        return function_at(stacks[row], depth) != first;
      };
      if (std::any_of(group.begin(), group.end(), is_other)) return depth;
    }
    return 0;
  }

  [[nodiscard]] std::size_t room_of(std::size_t row) const {
    const std::size_t taken = columns(via_[row]);
    return page_room_ > taken ? std::min(room_, page_room_ - taken) : 0;
  }

  // With that frame behind its row, and behind those that tell the row from others or are wanted.
  void show_via(const CallSite& stack, std::size_t row, const std::string& frame) {
    if (via_[row].find(frame) != std::string::npos) return;
    via_[row] += (via_[row].empty() ? std::string(kVia) : ", ") + frame;
    texts_[row] = text_with(stack, row, chosen_[row]);
  }

  void show_wanted_inner(const CallSite& stack, std::size_t row,
                         const std::function<bool(const Caller&)>& is_wanted) {
    const CallSite all = whole_(row, Depth::with_inner);
    const auto found = std::find_if(all.callers.begin(), all.callers.end(), is_wanted);
    if (found != all.callers.end()) show_via(stack, row, frame_text(*found, kShortName));
  }

  // The frame at this depth, where there is one, the row does not show it yet and has room for it.
  void show(const CallSite& stack, std::size_t row, std::size_t depth, Loses loses) {
    if (depth == 0 || depth >= stack.callers.size()) return;
    const Caller& caller = stack.callers[depth];
    ChosenFrames chosen = chosen_[row];
    chosen[depth] = {.text = frame_in(caller, room_behind_head(room_))};
    const std::string called_by = std::string(kCalledBy) + function_name(caller, kShortName);
    if (texts_[row].find(called_by) == std::string::npos) {
      std::string text = row_with(stack, chosen, room_of(row), loses);
      if (text.empty()) return;
      texts_[row] = std::move(text);
    }
    chosen_[row] = std::move(chosen);
    if (told_by_[row] == 0) told_by_[row] = depth;
  }

  [[nodiscard]] std::string text_with(const CallSite& stack, std::size_t row,
                                      const ChosenFrames& chosen) const {
    if (chosen.empty()) return stack_text(stack, room_of(row));
    const ChosenFrames deepest = {*chosen.rbegin()};
    for (const ChosenFrames& frames : {chosen, deepest}) {
      std::string text = row_with(stack, frames, room_of(row), Loses::any_but_names);
      if (!text.empty()) return text;
    }
    return stack_text(stack, room_of(row));
  }

  [[nodiscard]] std::vector<CallSite> stacks_of(const std::vector<std::size_t>& group,
                                                Depth depth) const {
    std::vector<CallSite> stacks;
    for (const std::size_t row : group) stacks.push_back(whole_(row, depth));
    return stacks;
  }

  // Whether some of them read differently now.
  bool tell_group(const std::vector<std::size_t>& group) {
    const std::vector<CallSite> stacks = stacks_of(group, Depth::folded);
    FramesApart difference = frames_apart(stacks, room_);
    const bool is_inner = difference.frames.empty();  // they differ within what rows leave out
    for (const Depth depth : {Depth::with_inner, Depth::whole}) {
      if (difference.frames.empty()) difference = frames_apart(stacks_of(group, depth), room_);
    }
    if (difference.frames.empty()) return false;
    bool told = false;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::size_t row = group[i];
      const std::string& frame = difference.frames[i];  // "" where its stack has ended
      ChosenFrames& chosen = chosen_[row];
      if (is_inner && !frame.empty()) show_via(stacks[i], row, frame);
      if (!is_inner && !frame.empty()) {
        chosen[difference.depth] = {frame, difference.in_usual_words};
        if (told_by_[row] == 0) told_by_[row] = difference.depth;
      }
      if (!is_inner) texts_[row] = text_with(stacks[i], row, chosen);
      told = told || text_of(row) != text_of(group[0]);
    }
    return told;
  }

  std::size_t page_room_;
  std::size_t room_;  // of it, what a row takes without what stands behind it
  const WholeStack& whole_;
  std::vector<std::string>& texts_;
  std::vector<ChosenFrames> chosen_;  // of each row, what tells it from others
  std::vector<std::string> via_;      // the same of what its text leaves out, "" nothing
  std::vector<std::size_t> told_by_;
};

CallSite without_front(CallSite stack, std::size_t frames) {
  frames = std::min(frames, stack.callers.size());
  stack.callers.erase(stack.callers.begin(),
                      stack.callers.begin() + static_cast<std::ptrdiff_t>(frames));
  return stack;
}

// What of the front each of the first stacks, which have rows, and of the others loses.
std::vector<std::size_t> fronts_of_rows(const std::vector<CallSite>& stacks, std::size_t rows,
                                        const StacksShown& shown) {
  FrontFrames frames;
  std::vector<std::vector<std::uint32_t>> numbers;
  for (const CallSite& stack : stacks) {
    numbers.emplace_back();
    for (const Caller& caller : stack.callers) numbers.back().push_back(frames.number(caller));
  }
  std::vector<std::size_t> fronts = fronts_of(numbers, frames.all());
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::vector<Caller>& callers = stacks[i].callers;
    if (shown.is_wanted) {
      const auto wanted = std::find_if(callers.begin(), callers.end(), shown.is_wanted);
      fronts[i] = std::min(fronts[i], static_cast<std::size_t>(wanted - callers.begin()));
    }
    alike[stack_text(without_front(stacks[i], fronts[i]), Table::kUncut)].push_back(i);
  }
  const auto front = [&](std::size_t row) {
    const auto begin = numbers[row].begin();
    return std::vector<std::uint32_t>(begin, begin + static_cast<std::ptrdiff_t>(fronts[row]));
  };
  for (const auto& [text, group] : alike) {
    const std::vector<std::uint32_t> first = front(group.front());
    const bool differ = std::any_of(group.begin(), group.end(),
                                    [&](std::size_t row) { return front(row) != first; });
    if (!differ) continue;
    for (const std::size_t row : group) fronts[row] = 0;
  }
  return fronts;
}

}  // namespace

std::vector<StackText> stack_texts(const std::vector<CallSite>& all_sites, std::size_t room,
                                   const std::function<CallSite(std::size_t)>& all_frames,
                                   const StacksShown& shown) {
  std::vector<CallSite> all;
  for (const CallSite& site : all_sites) all.push_back(folded(site));
  for (const CallSite& site : shown.beside) all.push_back(folded(site));
  const std::vector<std::size_t> fronts = fronts_of_rows(all, all_sites.size(), shown);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = without_front(std::move(all[i]), fronts[i]);
  const std::vector<CallSite> sites(all.begin(),
                                    all.begin() + static_cast<std::ptrdiff_t>(all_sites.size()));
  const WholeStack whole = [&](std::size_t row, Depth depth) {
    if (depth == Depth::whole) return all_frames(row);
    if (depth == Depth::with_inner) return folded(all_frames(row), Inner::shown);
    return without_front(folded(all_frames(row)), fronts[row]);
  };
  std::vector<std::string> texts;
  for (const CallSite& site : sites) texts.push_back(stack_text(site, room));
  std::vector<std::size_t> rows(sites.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  Telling telling(room, whole, texts);
  telling.show_own(sites);
  if (shown.is_wanted) telling.show_wanted(sites, shown.is_wanted);
  telling.show_callers(all);
  telling.tell(rows);
  std::vector<StackText> told;
  for (const std::size_t row : rows) {
    told.push_back({.text = telling.text_of(row),
                    .front = fronts[row],
                    .told_by = fronts[row] + telling.told_by(row)});
  }
  return told;
}

std::vector<std::string> stack_texts(const std::vector<SharedCallers>& stacks, std::size_t room,
                                     const std::vector<SharedCallers>& beside) {
  const auto sites_of = [](const std::vector<SharedCallers>& all) {
    std::vector<CallSite> sites(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const auto& caller : all[i]) sites[i].callers.push_back(*caller);
    }
    return sites;
  };
  const std::vector<CallSite> sites = sites_of(stacks);
  std::vector<std::string> texts;
  for (StackText& told : stack_texts(sites, room, [&](std::size_t i) { return sites[i]; },
                                     {.is_wanted = {}, .beside = sites_of(beside)})) {
    texts.push_back(std::move(told.text));
  }
  return texts;
}

}  // namespace vramscope
