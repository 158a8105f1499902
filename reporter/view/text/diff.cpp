// Gives both reports' places names, and matches these.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/diff.h"

#include <algorithm>
#include <cctype>
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "reporter/view/text/digest.h"
#include "reporter/view/text/filter.h"
#include "reporter/view/text/site_numbers.h"

namespace vramscope {
namespace {

// Numbers for values, from 0; equal ones have the same.
template <class Value, class Hash = std::hash<Value>>
class Numbers {
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

using Stack = std::vector<std::uint32_t>;  // numbers of callers, innermost first
struct HashOfStack {
  std::size_t operator()(const Stack& stack) const {
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(stack.data()), stack.size() * sizeof(stack[0])});
  }
};

// "train.cu:94" without ":94".
std::string without_line(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const bool is_line = colon != std::string::npos && colon + 1 < place.size() &&
                       std::all_of(place.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                   place.end(), [](unsigned char c) { return std::isdigit(c); });
  return is_line ? place.substr(0, colon) : place;
}

// What a caller is told by, and as a person reads it.
struct CallerName {
  std::string text;
  std::string function;
  std::uint32_t loose;  // the same for callers that differ in their line alone
};

// Of both reports, so that what has the same names in both has the same numbers.
struct Names {
  Numbers<std::string> words;  // owners and functions
  Numbers<Stack, HashOfStack> stacks;
  Numbers<Stack, HashOfStack> loose_stacks;  // of callers without their lines
  Numbers<std::string> keys;                 // of callers
  std::vector<CallerName> callers;           // by number of their key
  Numbers<std::string> loose;                // keys of callers without their lines

  std::uint32_t number(const Caller& caller) {
    const std::uint32_t found = keys.of(caller.function + "\n" + caller.place);
    if (found == callers.size()) {
      callers.push_back({text(caller), caller.function,
                         loose.of(caller.function + "\n" + without_line(caller.place))});
    }
    return found;
  }
};

// Which row, exactly.
struct Key {
  std::uint32_t what = 0;  // number of a stack or of a word
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  friend auto operator<=>(const Key&, const Key&) = default;
};
using Sides = std::map<Key, DiffSide>;

void add(Sides& sides, const Key& key, std::uint64_t bytes, std::uint64_t count,
         std::int64_t site) {
  DiffSide& side = sides[key];
  side.is_there = true;
  side.bytes += bytes;
  side.count += count;
  if (site >= 0) side.sites.push_back(site);
}

std::vector<Share> shares_of_all(const Report& report) {
  std::vector<Share> shares;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    for (const SitePart& part : report.sites[i].parts) {
      const SiteTotals& totals = numbers_of(part);
      if (!holds_memory(part.kind) || totals.total_count == 0) continue;
      shares.push_back(
          {i, part.kind, part.device, totals.total_bytes, totals.total_count, /*whole=*/0});
    }
  }
  return shares;
}

std::vector<Share> shares_at(const Report& report, DiffAt at) {
  if (at == DiffAt::peak) return shares_of_peak(report);
  return at == DiffAt::end ? shares_alive(report) : shares_of_all(report);
}

// What the row of a stack is of.
std::uint32_t row_of_stack(Names& names, DiffBy by, const Stack& stack) {
  if (by == DiffBy::site) return names.stacks.of(stack);
  return names.words.of(stack.empty() ? "unknown" : names.callers[stack.front()].function);
}

Sides by_stack(const Report& report, DiffBy by, DiffAt at, const NameFrame& name, Names& names) {
  constexpr std::size_t kMostFrames = 128;  // deeper stacks are not recorded
  NumberedCallers callers(report, name, [&](const Caller& caller) { return names.number(caller); });
  std::vector<std::optional<std::uint32_t>> rows(report.sites.size());
  Sides sides;
  for (const Share& share : shares_at(report, at)) {
    std::optional<std::uint32_t>& row = rows[share.site];
    if (!row) row = row_of_stack(names, by, callers.of(report.sites[share.site], kMostFrames));
    add(sides, {.what = *row, .kind = share.kind, .device = share.device}, share.bytes, share.count,
        site_number(report, share.site));
  }
  return sides;
}

std::pair<std::uint64_t, std::uint64_t> numbers_at(const SiteTotals& totals, DiffAt at) {
  if (at == DiffAt::peak) return {totals.peak_bytes, totals.peak_count};
  if (at == DiffAt::end) return {totals.live_bytes, totals.live_count};
  return {totals.total_bytes, totals.total_count};
}

// Where call stacks were chosen, by these.
Sides by_owner_of_stacks(const Report& report, DiffAt at, Names& names) {
  Sides sides;
  for (const Share& share : shares_at(report, at)) {
    add(sides,
        {.what = names.words.of(owner_of_site(report, report.sites[share.site])),
         .kind = share.kind,
         .device = share.device},
        share.bytes, share.count, -1);
  }
  return sides;
}

Sides by_owner(const Report& report, DiffAt at, Names& names) {
  if (report.chosen && report.chosen->by_rows) return by_owner_of_stacks(report, at, names);
  Sides sides;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis != Axis::owner || !holds_memory(entry.kind)) continue;
    const auto [bytes, count] = numbers_at(entry.totals, at);
    if (bytes == 0 && count == 0) continue;
    add(sides, {.what = names.words.of(entry.value), .kind = entry.kind, .device = entry.device},
        bytes, count, -1);
  }
  return sides;
}

// What is known without call stacks; of totals only what sites tell.
Sides by_kind(const Report& report, DiffAt at) {
  Sides sides;
  if (at == DiffAt::total) {
    for (const Share& share : shares_of_all(report)) {
      add(sides, {.kind = share.kind, .device = share.device}, share.bytes, share.count, -1);
    }
    return sides;
  }
  for (const KindFacts& kind : report.kinds) {
    if (!holds_memory(kind.kind)) continue;
    const std::uint64_t bytes = at == DiffAt::peak ? kind.peak_bytes : kind.current_bytes;
    if (bytes == 0) continue;
    const std::uint64_t live = kind.allocations - std::min(kind.allocations, kind.frees);
    add(sides, {.kind = kind.kind, .device = kind.device}, bytes,
        at == DiffAt::peak ? kind.allocations : live, -1);
  }
  return sides;
}

Sides sides_of(const Report& report, DiffBy by, DiffAt at, const NameFrame& name, Names& names) {
  if (by == DiffBy::owner) return by_owner(report, at, names);
  return by == DiffBy::kind ? by_kind(report, at) : by_stack(report, by, at, name, names);
}

// A row of a report, or what it is matched with; null: it is not there.
using Entry = Sides::value_type;

std::string name_of(const Key& key, DiffBy by, const Names& names) {
  return by == DiffBy::owner || by == DiffBy::function ? names.words[key.what] : "";
}

void take(DiffSide& side, Entry& entry, DiffBy by, const Names& names) {
  side = std::move(entry.second);
  if (by != DiffBy::site) return;
  for (const std::uint32_t caller : names.stacks[entry.first.what]) {
    side.frames.push_back(names.callers[caller].text);
  }
}

Difference row_of(Entry* before, Entry* after, DiffBy by, const Names& names) {
  const Key& key = before != nullptr ? before->first : after->first;
  Difference row{.name = name_of(key, by, names),
                 .kind = key.kind,
                 .device = key.device,
                 .before = {},
                 .after = {}};
  if (before != nullptr) take(row.before, *before, by, names);
  if (after != nullptr) take(row.after, *after, by, names);
  return row;
}

// Which rows of both reports are matched with which.
using Pairs = std::vector<std::pair<Entry*, Entry*>>;

bool is_equal(const std::pair<Entry*, Entry*>& pair) {
  const auto bytes = [](const Entry* entry) { return entry != nullptr ? entry->second.bytes : 0; };
  return bytes(pair.first) == bytes(pair.second);
}

std::vector<Difference> rows_of(const Pairs& pairs, DiffBy by, const Names& names) {
  std::vector<Difference> rows;
  rows.reserve(pairs.size());
  for (const auto& [before, after] : pairs) rows.push_back(row_of(before, after, by, names));
  return rows;
}

using Entries = std::vector<Entry*>;  // null: matched already

Entries entries_of(Sides& sides) {
  Entries entries;
  for (Entry& entry : sides) entries.push_back(&entry);
  return entries;
}

// Equal keys, of entries in their order; what matches leaves both.
void match_exactly(Entries& before, Entries& after, Pairs& pairs) {
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

// CellNumbers in the text count as such: line 9 comes before line 10.
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
std::string text_of(const Stack& stack, const Names& names) {
  std::string text;
  for (const std::uint32_t caller : stack) text += names.callers[caller].text + "\n";
  return text;
}

void put_in_order_of_lines(Entries& entries, const Names& names) {
  if (entries.size() < 2) return;
  std::map<const Entry*, std::string> texts;
  for (const Entry* entry : entries) {
    texts.emplace(entry, text_of(names.stacks[entry->first.what], names));
  }
  std::sort(entries.begin(), entries.end(), [&](const Entry* a, const Entry* b) {
    return in_order_of_lines(texts.at(a), texts.at(b));
  });
}

// The same for stacks that differ in lines alone.
Key without_lines(const Key& key, Names& names) {
  Stack loose = names.stacks[key.what];
  for (std::uint32_t& caller : loose) caller = names.callers[caller].loose;
  return {.what = names.loose_stacks.of(loose), .kind = key.kind, .device = key.device};
}

// In the order of their lines; what matches leaves both.
void match_without_lines(Entries& before, Entries& after, Names& names, Pairs& pairs) {
  std::map<Key, std::pair<Entries, Entries>> groups;
  for (Entry* one : before) groups[without_lines(one->first, names)].first.push_back(one);
  for (Entry* one : after) groups[without_lines(one->first, names)].second.push_back(one);
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

Pairs matched(Sides& before, Sides& after, DiffBy by, Names& names) {
  Pairs pairs;
  Entries ones = entries_of(before);
  Entries others = entries_of(after);
  match_exactly(ones, others, pairs);
  if (by == DiffBy::site) match_without_lines(ones, others, names, pairs);
  for (Entry* one : ones) pairs.emplace_back(one, nullptr);
  for (Entry* other : others) pairs.emplace_back(nullptr, other);
  return pairs;
}

const std::vector<std::string>& frames_in_order(const Difference& row) {
  return row.after.is_there && row.before.is_there ? std::min(row.after.frames, row.before.frames)
         : row.after.is_there                      ? row.after.frames
                                                   : row.before.frames;
}

void put_largest_first(std::vector<Difference>& rows) {
  const auto size = [](const Difference& row) {
    return std::max(row.before.bytes, row.after.bytes) -
           std::min(row.before.bytes, row.after.bytes);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Difference& a, const Difference& b) {
    if (size(a) != size(b)) return size(a) > size(b);
    return std::tie(a.name, frames_in_order(a), a.kind, a.device) <
           std::tie(b.name, frames_in_order(b), b.kind, b.device);
  });
}

}  // namespace

Change Difference::what() const {
  if (!before.is_there) return Change::fresh;
  if (!after.is_there) return Change::gone;
  return after.bytes >= before.bytes ? Change::grown : Change::shrunk;
}

Differences differences(const Report& before, const Report& after, DiffBy by, DiffAt at,
                        const NameFrame& name) {
  Differences result;
  Sides one = by_kind(before, at);
  Sides other = by_kind(after, at);
  for (const auto& [key, side] : one) result.before_bytes += side.bytes;
  for (const auto& [key, side] : other) result.after_bytes += side.bytes;
  Names names;
  result.memory = rows_of(matched(one, other, DiffBy::kind, names), DiffBy::kind, names);
  put_largest_first(result.memory);

  one = sides_of(before, by, at, name, names);
  other = sides_of(after, by, at, name, names);
  Pairs pairs = matched(one, other, by, names);
  result.equal = std::erase_if(pairs, is_equal);
  result.rows = rows_of(pairs, by, names);
  put_largest_first(result.rows);
  return result;
}

}  // namespace vramscope
