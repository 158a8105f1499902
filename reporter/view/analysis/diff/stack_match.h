// matched() finds the rows of two reports that are the same place, by the names of their callers.
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

// What one report says of a place, owner or other row; requested bytes.
struct DiffSide {
  bool is_there = false;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::vector<std::int64_t> sites = {};   // the sites of the row, by their numbers in the report's
                                          // file
  std::vector<std::string> frames = {};   // innermost first, for a place
  std::vector<std::string> in_full = {};  // the frames with types and paths, if requested
  SharedCallers callers = {};             // the same frames as callers

  [[nodiscard]] const std::vector<std::string>& listed() const {
    return in_full.empty() ? frames : in_full;
  }
};

// A file that rows name in both reports, under a different name in each.
struct RenamedFile {
  std::string before;
  std::string after;
  std::size_t rows = 0;  // rows that name it, including equal ones
};

// Numbers values from 0 on; equal values have the same number.
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

// What identifies a caller, and its text for people.
struct CallerName {
  std::string text;
  std::string function;
  std::string file;       // "": unknown
  std::uint32_t loose;    // equal for callers that differ only in their lines
  std::uint32_t by_word;  // number of its function, without template arguments
  std::string in_full;    // with types and its path, if requested
  std::shared_ptr<const Caller> caller = {};
};

// The names of both reports, so that equal names in both have equal numbers.
struct SharedNames {
  NameNumbers<std::string> words;  // owners and functions
  NameNumbers<NumberedStack, HashOfStack> stacks;
  NameNumbers<NumberedStack, HashOfStack> loose_stacks;     // of callers without their lines
  NameNumbers<NumberedStack, HashOfStack> stacks_of_words;  // of functions only
  NameNumbers<std::string> keys;                            // of callers
  std::vector<CallerName> callers;                          // by the number of their key
  NameNumbers<std::string> loose;                           // keys of callers without their lines

  std::uint32_t number(const Caller& caller, const NameFrame& name);
};

// Identifies a row exactly.
struct RowKey {
  std::uint32_t what = 0;  // number of a stack or of a word
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};
using RowSides = std::map<RowKey, DiffSide>;

// A row of a report, or the row with which it matches; null: none.
using RowEntry = RowSides::value_type;

// The rows of both reports that match.
using RowPairs = std::vector<std::pair<RowEntry*, RowEntry*>>;

struct RowMatches {
  RowPairs pairs;
  RowPairs by_functions;  // those of `pairs` that only match by functions
};

// What keys number: stacks, which may have moved, or words.
enum class RowsOf : std::uint8_t { stacks, words };

// May throw bad_alloc.
[[nodiscard]] RowMatches matched(RowSides& before, RowSides& after, RowsOf rows,
                                 SharedNames& names);

// Returns the files with other names in these pairs, those of most rows first.
[[nodiscard]] std::vector<RenamedFile> renamed_files(const RowPairs& by_functions,
                                                     const SharedNames& names);

}  // namespace vramscope
