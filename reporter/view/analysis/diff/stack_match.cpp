// Matches by all names, then by those that stay when lines move, then by functions alone.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/diff/stack_match.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

namespace vramscope {
namespace {

using RowEntries = std::vector<RowEntry*>;  // null: matched already

RowEntries entries_of(RowSides& sides) {
  RowEntries entries;
  for (RowEntry& entry : sides) entries.push_back(&entry);
  return entries;
}

// Equal keys, of entries in their order; what matches leaves both.
void match_exactly(RowEntries& before, RowEntries& after, RowPairs& pairs) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() && j < after.size()) {
    const auto order = before[i]->first <=> after[j]->first;
    if (order == 0)
      pairs.emplace_back(std::exchange(before[i], nullptr), std::exchange(after[j], nullptr));
    i += order <= 0 ? 1 : 0;
    j += order < 0 ? 0 : 1;
  }
  std::erase(before, nullptr);
  std::erase(after, nullptr);
}

// Numbers in the text count as such: line 9 comes before line 10.
bool in_order_of_lines(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    std::string x, y;
    while (i < a.size() && is_digit(a[i])) x += a[i++];
    while (j < b.size() && is_digit(b[j])) y += b[j++];
    if (x != y) return std::tuple(x.size(), x) < std::tuple(y.size(), y);
  }
  return a.size() - i < b.size() - j;
}

// One line for each of its frames.
std::string text_of(const NumberedStack& stack, const SharedNames& names) {
  std::string text;
  for (const std::uint32_t caller : stack) text += names.callers[caller].text + "\n";
  return text;
}

void put_in_order_of_lines(RowEntries& entries, const SharedNames& names) {
  if (entries.size() < 2) return;
  std::map<const RowEntry*, std::string> texts;
  for (const RowEntry* entry : entries) {
    texts.emplace(entry, text_of(names.stacks[entry->first.what], names));
  }
  std::sort(entries.begin(), entries.end(), [&](const RowEntry* a, const RowEntry* b) {
    return in_order_of_lines(texts.at(a), texts.at(b));
  });
}

// The same for stacks that differ in lines alone.
RowKey without_lines(const RowKey& key, SharedNames& names) {
  NumberedStack loose = names.stacks[key.what];
  for (std::uint32_t& caller : loose) caller = names.callers[caller].loose;
  return {.what = names.loose_stacks.of(loose), .kind = key.kind, .device = key.device};
}

// The pairs of a group whose rows differ in lines alone, or are as good as that, in the order of
// these; the others are left.
void pair_in_order(RowEntries& ones, RowEntries& others, const SharedNames& names,
                   RowPairs& pairs) {
  const std::size_t both = std::min(ones.size(), others.size());
  if (both == 0) return;
  put_in_order_of_lines(ones, names);
  put_in_order_of_lines(others, names);
  for (std::size_t i = 0; i < both; ++i) pairs.emplace_back(ones[i], others[i]);
  ones.erase(ones.begin(), ones.begin() + static_cast<std::ptrdiff_t>(both));
  others.erase(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(both));
}

void append(RowEntries& all, const RowEntries& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// In the order of their lines; what matches leaves both.
void match_without_lines(RowEntries& before, RowEntries& after, SharedNames& names,
                         RowPairs& pairs) {
  std::map<RowKey, std::pair<RowEntries, RowEntries>> groups;
  for (RowEntry* one : before) groups[without_lines(one->first, names)].first.push_back(one);
  for (RowEntry* one : after) groups[without_lines(one->first, names)].second.push_back(one);
  before.clear();
  after.clear();
  for (auto& [key, group] : groups) {
    pair_in_order(group.first, group.second, names, pairs);
    append(before, group.first);
    append(after, group.second);
  }
}

// The same for stacks of the same functions, in whatever files.
RowKey without_files(const RowKey& key, SharedNames& names) {
  NumberedStack words = names.stacks[key.what];
  for (std::uint32_t& caller : words) caller = names.callers[caller].by_word;
  return {.what = names.stacks_of_words.of(words), .kind = key.kind, .device = key.device};
}

// One side of the rows of the same functions.
struct SameFunctions {
  std::set<std::uint32_t> loose_stacks = {};  // of all rows, matched or not
  RowEntries left = {};
};
using FunctionGroups = std::map<RowKey, std::pair<SameFunctions, SameFunctions>>;

void add_stacks(FunctionGroups& groups, const RowSides& all, SharedNames& names,
                SameFunctions FunctionGroups::mapped_type::*side) {
  for (const auto& [key, row] : all) {
    (groups[without_files(key, names)].*side).loose_stacks.insert(without_lines(key, names).what);
  }
}

// Where each report has these functions in one chain of files, and as many rows: the files have
// other names, or one report does not tell them. What matches leaves both.
void match_by_functions(RowEntries& before, RowEntries& after, FunctionGroups& groups,
                        SharedNames& names, RowPairs& pairs) {
  for (RowEntry* one : before) groups[without_files(one->first, names)].first.left.push_back(one);
  for (RowEntry* one : after) groups[without_files(one->first, names)].second.left.push_back(one);
  before.clear();
  after.clear();
  for (auto& [key, group] : groups) {
    auto& [ones, others] = group;
    const bool is_clear = ones.loose_stacks.size() == 1 && others.loose_stacks.size() == 1 &&
                          ones.left.size() == others.left.size();
    if (is_clear) pair_in_order(ones.left, others.left, names, pairs);
    append(before, ones.left);
    append(after, others.left);
  }
}

// Of a pair, each pair of files once.
std::set<std::pair<std::string, std::string>> files_of(const RowPairs::value_type& pair,
                                                       const SharedNames& names) {
  const NumberedStack& before = names.stacks[pair.first->first.what];
  const NumberedStack& after = names.stacks[pair.second->first.what];
  std::set<std::pair<std::string, std::string>> files;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const std::string& was = names.callers[before[i]].file;
    const std::string& is = names.callers[after[i]].file;
    if (was != is && !was.empty() && !is.empty()) files.emplace(was, is);
  }
  return files;
}

}  // namespace

std::uint32_t SharedNames::number(const Caller& caller, const NameFrame& name) {
  const std::uint32_t found = keys.of(caller.function + "\n" + caller.place);
  if (found == callers.size()) {
    const std::string file = without_line(caller.place);
    callers.push_back({.text = text(caller),
                       .function = caller.function,
                       .file = file,
                       .loose = loose.of(caller.function + "\n" + file),
                       .by_word = words.of(shorten(caller.function)),
                       .in_full = name.in_full ? listed_text(caller, name) : "",
                       .caller = std::make_shared<const Caller>(caller)});
  }
  return found;
}

RowMatches matched(RowSides& before, RowSides& after, RowsOf rows, SharedNames& names) {
  RowMatches matches;
  RowPairs& pairs = matches.pairs;
  RowEntries ones = entries_of(before);
  RowEntries others = entries_of(after);
  match_exactly(ones, others, pairs);
  if (rows == RowsOf::stacks) match_without_lines(ones, others, names, pairs);
  if (rows == RowsOf::stacks && !ones.empty() && !others.empty()) {
    FunctionGroups groups;
    add_stacks(groups, before, names, &FunctionGroups::mapped_type::first);
    add_stacks(groups, after, names, &FunctionGroups::mapped_type::second);
    match_by_functions(ones, others, groups, names, matches.by_functions);
    pairs.insert(pairs.end(), matches.by_functions.begin(), matches.by_functions.end());
  }
  for (RowEntry* one : ones) pairs.emplace_back(one, nullptr);
  for (RowEntry* other : others) pairs.emplace_back(nullptr, other);
  return matches;
}

std::vector<RenamedFile> renamed_files(const RowPairs& by_functions, const SharedNames& names) {
  std::map<std::pair<std::string, std::string>, std::size_t> rows;
  for (const auto& pair : by_functions) {
    for (const auto& files : files_of(pair, names)) ++rows[files];
  }
  std::vector<RenamedFile> renamed;
  for (const auto& [files, count] : rows) renamed.push_back({files.first, files.second, count});
  std::sort(renamed.begin(), renamed.end(), [](const RenamedFile& a, const RenamedFile& b) {
    if (a.rows != b.rows) return a.rows > b.rows;
    return std::minmax(a.before, a.after) < std::minmax(b.before, b.after);
  });
  return renamed;
}

}  // namespace vramscope
