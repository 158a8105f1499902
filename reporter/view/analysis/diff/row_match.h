// matched() says which rows of two reports are the same place, by the names of its callers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/frames.h"

namespace vramscope {

// What one report says of a place, owner, ...; requested bytes.
struct DiffSide {
  bool is_there = false;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::vector<std::int64_t> sites = {};   // numbers in its file of those it is made of
  std::vector<std::string> frames = {};   // innermost first, of a place
  std::vector<std::string> in_full = {};  // the same with types and paths, where that is asked for
  SharedCallers callers = {};             // the same

  [[nodiscard]] const std::vector<std::string>& listed() const {
    return in_full.empty() ? frames : in_full;
  }
};

// A file that rows name in both reports, by one name in each.
struct RenamedFile {
  std::string before;
  std::string after;
  std::size_t rows = 0;  // that name it, equal ones too
};

// Numbers for values, from 0; equal ones have the same.
template <class Value, class Hash = std::hash<Value>>
class NameNumbers {
 public:
  std::uint32_t of(const Value& value) {
    const auto next = static_cast<std::uint32_t>(values_.size());
    const auto [known, is_new] = numbers_.try_emplace(value, next);
    if (is_new) values_.push_back(&known->first);
    return known->second;
  }
  const Value& operator[](std::uint32_t number) const { return *values_[number]; }

 private:
  std::unordered_map<Value, std::uint32_t, Hash> numbers_;
  std::vector<const Value*> values_;
};

using NumberedStack = std::vector<std::uint32_t>;  // numbers of callers, innermost first
struct HashOfStack {
  std::size_t operator()(const NumberedStack& stack) const {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(stack.data()), stack.size() * sizeof(stack[0])});
  }
};

// What a caller is told by, and as a person reads it.
struct CallerName {
  std::string text;
  std::string function;
  std::string file;       // "" unknown
  std::uint32_t loose;    // the same for callers that differ in their line alone
  std::uint32_t by_word;  // number of its function, whatever its template arguments
  std::string in_full;    // with types and its path, where that is asked for
  std::shared_ptr<const Caller> caller = {};
};

// Of both reports, so that what has the same names in both has the same numbers.
struct NamesOfBoth {
  NameNumbers<std::string> words;  // owners and functions
  NameNumbers<NumberedStack, HashOfStack> stacks;
  NameNumbers<NumberedStack, HashOfStack> loose_stacks;     // of callers without their lines
  NameNumbers<NumberedStack, HashOfStack> stacks_of_words;  // of functions alone
  NameNumbers<std::string> keys;                            // of callers
  std::vector<CallerName> callers;                          // by number of their key
  NameNumbers<std::string> loose;                           // keys of callers without their lines

  std::uint32_t number(const Caller& caller, const NameFrame& name);
};

// Which row, exactly.
struct RowKey {
  std::uint32_t what = 0;  // number of a stack or of a word
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};
using RowSides = std::map<RowKey, DiffSide>;

// A row of a report, or what it is matched with; null: it is not there.
using RowEntry = RowSides::value_type;

// Which rows of both reports are matched with which.
using RowPairs = std::vector<std::pair<RowEntry*, RowEntry*>>;

struct RowMatches {
  RowPairs pairs;
  RowPairs by_functions;  // those of `pairs` that only their functions match
};

// What keys are numbers of: stacks, which may have moved, or words.
enum class RowsOf : std::uint8_t { stacks, words };

// May throw bad_alloc.
[[nodiscard]] RowMatches matched(RowSides& before, RowSides& after, RowsOf rows,
                                 NamesOfBoth& names);

// Which files have other names in these, those of most rows first.
[[nodiscard]] std::vector<RenamedFile> renamed_files(const RowPairs& by_functions,
                                                     const NamesOfBoth& names);

}  // namespace vramscope
