// Folds call stacks for the rows of listings.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/stack_front.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "reporter/view/analysis/stacks/inner_frames.h"

namespace vramscope {
namespace {

const std::string& full_place(const Caller& caller) {
  return caller.path.empty() ? caller.place : caller.path;
}

bool is_same_function(const Caller& a, const Caller& b) {
  return a.function == b.function && a.full == b.full && a.module == b.module &&
         without_line(full_place(a)) == without_line(full_place(b));
}

// How often the `period` callers from `at` on come one after the other.
std::size_t rounds(const std::vector<Caller>& callers, std::size_t at, std::size_t period) {
  std::size_t end = at + period;
  while (end < callers.size() && is_same_function(callers[end], callers[end - period])) ++end;
  return (end - at) / period;
}

// The caller `at` of so many rounds of a period.
Caller one_of(const std::vector<Caller>& callers, std::size_t at, std::size_t period,
              std::size_t times) {
  Caller caller = callers[at];
  std::size_t all = 0;
  bool is_one_line = true;
  for (std::size_t i = 0; i < times; ++i) {
    all += callers[at + i * period].times;
    is_one_line = is_one_line && callers[at + i * period].place == caller.place;
  }
  caller.times = all;
  if (!is_one_line) {
    caller.place = without_line(caller.place);
    caller.path = without_line(caller.path);
    caller.line.clear();
  }
  return caller;
}

bool has_prefix(std::string_view text, const std::initializer_list<std::string_view>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

// "ns::Buffer::make" of "ns::Buffer<std::pair<int, int>>::make<float>".
std::string without_arguments(std::string_view function) {
  std::string result;
  int depth = 0;
  for (const char c : function) {
    depth += c == '<' ? 1 : 0;
    if (depth == 0) result += c;
    depth -= c == '>' && depth > 0 ? 1 : 0;
  }
  return result;
}

// Behind the last "::", and what it is a member of.
std::pair<std::string_view, std::string_view> name_and_type(std::string_view function) {
  const std::size_t last = function.rfind("::");
  if (last == std::string_view::npos) return {function, ""};
  const std::string_view type = function.substr(0, last);
  return {function.substr(last + 2), type.substr(type.rfind(':') + 1)};
}

// "device_alloc", "operator new", a constructor, Python's "Buffer.__init__".
bool is_named_so(std::string_view function) {
  if (function.ends_with(".__init__") || function.ends_with(".__new__")) return true;
  const std::string plain = without_arguments(function);
  const auto [name, type] = name_and_type(plain);
  if (name == type || name.starts_with("operator new")) return true;
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find("alloc") != lower.npos;
}

}  // namespace

bool is_of_standard_library(const Caller& caller) {
  if (has_prefix(caller.function, {"std::", "__gnu_cxx::", "thrust::", "cub::", "cuda::"}))
    return true;
  const std::string_view path = caller.path;
  if (path.find("/include/c++/") != path.npos) return true;
  const std::size_t python = path.find("/lib/python");
  if (python != path.npos) return path.find("-packages/") == path.npos;
  const std::string_view module = std::string_view(caller.module);
  const std::string_view file = module.substr(module.rfind('/') + 1);
  return has_prefix(file, {"libstdc++.so", "libc++.so", "libc++abi.so"});
}

namespace {

// Without a name where the library has no symbols here.
bool is_unnamed_in(const Caller& caller, const std::initializer_list<std::string_view>& libraries) {
  const std::string_view module = caller.module;
  return !has_name(caller) && has_prefix(module.substr(module.rfind('/') + 1), libraries);
}

// Of the C library, or of that of C++: the thread's first ones.
bool begins_a_thread(const Caller& caller) {
  constexpr std::string_view kNames[] = {"start_thread", "clone", "clone3",
                                         "execute_native_thread_routine",
                                         "std::__1::__thread_proxy"};
  const std::string name = without_arguments(caller.function);
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         is_unnamed_in(caller, {"libc.so", "libpthread.so", "libstdc++.so"});
}

// Between those and the program's function.
bool only_calls(const Caller& caller) {
  return is_of_standard_library(caller) || begins_a_thread(caller) ||
         caller.function.starts_with("__pthread_once");
}

std::size_t size_without_end(const std::vector<Caller>& callers) {
  std::size_t size = callers.size();
  if (size == 0 || !begins_a_thread(callers.back())) return size;
  while (size != 0 && only_calls(callers[size - 1])) --size;
  return size == 0 ? callers.size() : size;
}

}  // namespace

namespace {

// With each recursion as one round of it.
std::vector<Caller> without_recursion(const std::vector<Caller>& callers) {
  constexpr std::size_t kLongestPeriod = 4;
  constexpr std::size_t kRounds = 3;  // of several functions, before they are called recursion
  std::vector<Caller> result;
  for (std::size_t i = 0; i < callers.size();) {
    std::size_t period = 1;
    std::size_t times = 1;
    for (std::size_t p = 1; p <= kLongestPeriod && times == 1; ++p) {
      const std::size_t found = rounds(callers, i, p);
      if (found < (p == 1 ? 2 : kRounds)) continue;
      period = p;
      times = found;
    }
    for (std::size_t j = 0; j < period; ++j) {
      result.push_back(one_of(callers, i + j, period, times));
    }
    i += period * times;
  }
  return result;
}

CallSite folded_frames(const CallSite& stack, const std::vector<std::size_t>& kept) {
  std::vector<Caller> callers;
  callers.reserve(kept.size());
  for (const std::size_t at : kept) callers.push_back(stack.callers[at]);
  CallSite result{.entry = stack.entry, .callers = without_recursion(callers)};
  result.callers.resize(size_without_end(result.callers));
  return result;
}

}  // namespace

CallSite folded(const CallSite& stack, Inner inner) {
  if (inner == Inner::left_out) {
    return folded_frames(stack, outer_frames(stack.callers, true).kept);
  }
  std::vector<std::size_t> all(stack.callers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return folded_frames(stack, all);
}

CallSite folded_call_site(const Report& report, const Site& site, const NameFrame& name,
                          std::size_t most) {
  for (std::size_t named = most;; named *= 2) {
    const CallSite all = call_site(report, site, name, named);
    const bool is_whole = all.callers.size() < named || named == kAllFrames;
    const OuterFrames outer = outer_frames(all.callers, is_whole);
    CallSite stack = folded_frames(all, outer.kept);
    // The last one may be there more often than was looked at.
    if (is_whole || (outer.is_certain && stack.callers.size() > most)) {
      stack.callers.resize(std::min(most, stack.callers.size()));
      return stack;
    }
  }
}

CallSite without_standard_front(CallSite stack) {
  const auto own =
      std::find_if_not(stack.callers.begin(), stack.callers.end(), is_of_standard_library);
  if (own != stack.callers.end()) stack.callers.erase(stack.callers.begin(), own);
  return stack;
}

CallSite call_site_in_text(const Report& report, const Site& site, const NameFrame& name,
                           std::size_t most) {
  constexpr std::size_t kLongestFront = 24;
  const bool is_all = most == kAllFrames;
  CallSite stack = without_standard_front(
      folded_call_site(report, site, name, is_all ? most : most + kLongestFront));
  stack.callers.resize(std::min(most, stack.callers.size()));
  return stack;
}

std::uint32_t FrontFrames::number(const Caller& caller) {
  const std::string& name = full_name(caller);
  const std::string& path = full_place(caller);
  const std::uint32_t place = places_.of(name + '\n' + path);
  if (place < frames_.size()) return place;
  frames_.push_back({.function = functions_.of(name + '\n' + without_line(path)),
                     .place = place,
                     .has_name = has_name(caller),
                     .is_standard = is_of_standard_library(caller),
                     .is_named_so = is_named_so(caller.function)});
  return place;
}

namespace {

// Looks for wrappers among stacks, each from where the front that is known of it ends.
class Wrappers {
 public:
  Wrappers(const std::vector<std::vector<std::uint32_t>>& stacks,
           const std::vector<FrontFrame>& frames)
      : stacks_(stacks), frames_(frames), fronts_(stacks.size()) {
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      if (!stacks[i].empty()) fronts_[i] = own_from(i, 0).value_or(0);
    }
  }

  std::vector<std::size_t> fronts() {
    constexpr int kMostLayers = 8;
    constexpr std::size_t kCallersOfAny = 3;
    for (int layer = 0; layer < kMostLayers; ++layer) {
      if (!pass(layer == 0 ? kCallersOfAny : 0)) break;
    }
    return fronts_;
  }

 private:
  using Stacks = std::vector<std::size_t>;  // indices

  // The first frame from there on that is not the standard library's.
  [[nodiscard]] std::optional<std::size_t> own_from(std::size_t stack, std::size_t at) const {
    while (at < stacks_[stack].size() && frames_[stacks_[stack][at]].is_standard) ++at;
    return at < stacks_[stack].size() ? std::optional(at) : std::nullopt;
  }
  [[nodiscard]] const FrontFrame& frame(std::size_t stack, std::size_t at) const {
    return frames_[stacks_[stack][at]];
  }

  // Takes wrappers off the fronts; `callers_of_any`: so many make one of a function whatever its
  // name, 0: none. Whether there were some.
  bool pass(std::size_t callers_of_any) {
    std::map<std::uint32_t, std::map<std::uint32_t, Stacks>> functions;  // and places
    for (std::size_t i = 0; i < stacks_.size(); ++i) {
      if (stacks_[i].empty()) continue;
      const FrontFrame& front = frame(i, fronts_[i]);
      functions[front.function][front.place].push_back(i);
    }
    bool any = false;
    for (const auto& [function, places] : functions) {
      if (places.size() == 1 && take_off(places.begin()->second, callers_of_any)) any = true;
    }
    return any;
  }

  // Of stacks with one front: the frames up to where they part, if all of these may be wrappers.
  bool take_off(const Stacks& stacks, std::size_t callers_of_any) {
    std::vector<std::size_t> at;
    for (const std::size_t stack : stacks) at.push_back(fronts_[stack]);
    while (true) {
      const FrontFrame wrapper = frame(stacks.front(), at.front());
      if (!wrapper.has_name) return false;
      std::set<std::uint32_t> functions;
      std::set<std::uint32_t> places;
      for (std::size_t i = 0; i < stacks.size(); ++i) {
        const std::optional<std::size_t> next = own_from(stacks[i], at[i] + 1);
        if (!next) return false;  // nobody of the program's own calls it
        at[i] = *next;
        const FrontFrame& caller = frame(stacks[i], at[i]);
        if (caller.has_name) functions.insert(caller.function);
        places.insert(caller.place);
      }
      const bool is_called_by_many = callers_of_any != 0 && functions.size() >= callers_of_any;
      if (!wrapper.is_named_so && !is_called_by_many) return false;
      if (places.size() == 1) continue;
      for (std::size_t i = 0; i < stacks.size(); ++i) fronts_[stacks[i]] = at[i];
      return true;
    }
  }

  const std::vector<std::vector<std::uint32_t>>& stacks_;
  const std::vector<FrontFrame>& frames_;
  std::vector<std::size_t> fronts_;
};

}  // namespace

std::vector<std::size_t> fronts_of(const std::vector<std::vector<std::uint32_t>>& stacks,
                                   const std::vector<FrontFrame>& frames) {
  return Wrappers(stacks, frames).fronts();
}

}  // namespace vramscope
