// Matches by all names, then by those that stay when lines move.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/row_match.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

namespace vramscope {
namespace {

// "train.cu:94" without ":94".
std::string without_line(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const bool is_line = colon != std::string::npos && colon + 1 < place.size() &&
                       std::all_of(place.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                   place.end(), [](unsigned char c) { return std::isdigit(c); });
  return is_line ? place.substr(0, colon) : place;
}

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
std::string text_of(const NumberedStack& stack, const NamesOfBoth& names) {
  std::string text;
  for (const std::uint32_t caller : stack) text += names.callers[caller].text + "\n";
  return text;
}

void put_in_order_of_lines(RowEntries& entries, const NamesOfBoth& names) {
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
RowKey without_lines(const RowKey& key, NamesOfBoth& names) {
  NumberedStack loose = names.stacks[key.what];
  for (std::uint32_t& caller : loose) caller = names.callers[caller].loose;
  return {.what = names.loose_stacks.of(loose), .kind = key.kind, .device = key.device};
}

// In the order of their lines; what matches leaves both.
void match_without_lines(RowEntries& before, RowEntries& after, NamesOfBoth& names,
                         RowPairs& pairs) {
  std::map<RowKey, std::pair<RowEntries, RowEntries>> groups;
  for (RowEntry* one : before) groups[without_lines(one->first, names)].first.push_back(one);
  for (RowEntry* one : after) groups[without_lines(one->first, names)].second.push_back(one);
  before.clear();
  after.clear();
  for (auto& [key, group] : groups) {
    auto& [ones, others] = group;
    const std::size_t both = std::min(ones.size(), others.size());
    if (both != 0) put_in_order_of_lines(ones, names);
    if (both != 0) put_in_order_of_lines(others, names);
    for (std::size_t i = 0; i < both; ++i) pairs.emplace_back(ones[i], others[i]);
    before.insert(before.end(), ones.begin() + static_cast<std::ptrdiff_t>(both), ones.end());
    after.insert(after.end(), others.begin() + static_cast<std::ptrdiff_t>(both), others.end());
  }
}

}  // namespace

std::uint32_t NamesOfBoth::number(const Caller& caller) {
  const std::uint32_t found = keys.of(caller.function + "\n" + caller.place);
  if (found == callers.size()) {
    callers.push_back({text(caller), caller.function,
                       loose.of(caller.function + "\n" + without_line(caller.place))});
  }
  return found;
}

RowPairs matched(RowSides& before, RowSides& after, DiffBy by, NamesOfBoth& names) {
  RowPairs pairs;
  RowEntries ones = entries_of(before);
  RowEntries others = entries_of(after);
  match_exactly(ones, others, pairs);
  if (by == DiffBy::site) match_without_lines(ones, others, names, pairs);
  for (RowEntry* one : ones) pairs.emplace_back(one, nullptr);
  for (RowEntry* other : others) pairs.emplace_back(nullptr, other);
  return pairs;
}

}  // namespace vramscope
