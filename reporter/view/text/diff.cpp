// Gives both reports' places names, and matches these.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/diff.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>
#include <utility>

#include "reporter/view/text/digest.h"
#include "reporter/view/text/filter.h"
#include "reporter/view/text/site_numbers.h"

namespace vramscope {
namespace {

// Which row, exactly and without the lines of its frames.
struct Key {
  std::string name = {};
  std::string without_lines = {};
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

// "train.cu:94" without ":94".
std::string without_line(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const bool is_line = colon != std::string::npos && colon + 1 < place.size() &&
                       std::all_of(place.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                   place.end(), [](unsigned char c) { return std::isdigit(c); });
  return is_line ? place.substr(0, colon) : place;
}

// What a call stack is told by, and its frames as a person reads them.
struct NamedStack {
  std::string name;
  std::string without_lines;
  std::string function;  // the innermost
  std::vector<std::string> frames;
};

NamedStack named_stack(const Report& report, const Site& site, const NameFrame& name) {
  constexpr std::size_t kMostFrames = 128;  // deeper stacks are not recorded
  NamedStack stack;
  const CallSite found = call_site(report, site, name, kMostFrames);
  for (const Caller& caller : found.callers) {
    stack.frames.push_back(text(caller));
    stack.name += stack.frames.back() + "\n";
    stack.without_lines += caller.function + "\n" + without_line(caller.place) + "\n";
  }
  stack.function = found.callers.empty() ? "unknown" : found.callers.front().function;
  return stack;
}

Sides by_stack(const Report& report, DiffBy by, DiffAt at, const NameFrame& name) {
  std::map<std::size_t, NamedStack> stacks;
  Sides sides;
  for (const Share& share : shares_at(report, at)) {
    const auto [known, is_new] = stacks.try_emplace(share.site);
    if (is_new) known->second = named_stack(report, report.sites[share.site], name);
    const NamedStack& stack = known->second;
    Key key{.name = stack.function, .kind = share.kind, .device = share.device};
    if (by == DiffBy::site) {
      key.name = stack.name;
      key.without_lines = stack.without_lines;
    }
    add(sides, key, share.bytes, share.count, site_number(report, share.site));
    if (by == DiffBy::site) sides[key].frames = stack.frames;
  }
  return sides;
}

std::pair<std::uint64_t, std::uint64_t> numbers_at(const SiteTotals& totals, DiffAt at) {
  if (at == DiffAt::peak) return {totals.peak_bytes, totals.peak_count};
  if (at == DiffAt::end) return {totals.live_bytes, totals.live_count};
  return {totals.total_bytes, totals.total_count};
}

// Where call stacks were chosen, by these.
Sides by_owner_of_stacks(const Report& report, DiffAt at) {
  Sides sides;
  for (const Share& share : shares_at(report, at)) {
    add(sides,
        {.name = owner_of_site(report, report.sites[share.site]),
         .kind = share.kind,
         .device = share.device},
        share.bytes, share.count, -1);
  }
  return sides;
}

Sides by_owner(const Report& report, DiffAt at) {
  if (report.chosen && report.chosen->by_rows) return by_owner_of_stacks(report, at);
  Sides sides;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis != Axis::owner || !holds_memory(entry.kind)) continue;
    const auto [bytes, count] = numbers_at(entry.totals, at);
    if (bytes == 0 && count == 0) continue;
    add(sides, {.name = entry.value, .kind = entry.kind, .device = entry.device}, bytes, count, -1);
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

Sides sides_of(const Report& report, DiffBy by, DiffAt at, const NameFrame& name) {
  if (by == DiffBy::owner) return by_owner(report, at);
  return by == DiffBy::kind ? by_kind(report, at) : by_stack(report, by, at, name);
}

Difference row_of(const Key& key, DiffBy by, const DiffSide& before, const DiffSide& after) {
  return {.name = by == DiffBy::site ? "" : key.name,
          .kind = key.kind,
          .device = key.device,
          .before = before,
          .after = after};
}

// Equal keys; what matches leaves both.
void match_exactly(Sides& before, Sides& after, DiffBy by, std::vector<Difference>& rows) {
  for (auto one = before.begin(); one != before.end();) {
    const auto other = after.find(one->first);
    if (other == after.end()) {
      ++one;
      continue;
    }
    rows.push_back(row_of(one->first, by, one->second, other->second));
    after.erase(other);
    one = before.erase(one);
  }
}

using Loose = std::tuple<std::string, Kind, std::uint16_t>;
std::map<Loose, std::vector<Key>> loosely(const Sides& sides) {
  std::map<Loose, std::vector<Key>> keys;
  for (const auto& [key, side] : sides) {
    if (!key.without_lines.empty()) {
      keys[{key.without_lines, key.kind, key.device}].push_back(key);
    }
  }
  return keys;
}

// CellNumbers in the text count as such: line 9 comes before line 10.
bool in_order_of_lines(const Key& a, const Key& b) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.name.size() && j < b.name.size()) {
    if (!is_digit(a.name[i]) || !is_digit(b.name[j])) {
      if (a.name[i] != b.name[j]) return a.name[i] < b.name[j];
      ++i, ++j;
      continue;
    }
    std::string x, y;
    while (i < a.name.size() && is_digit(a.name[i])) x += a.name[i++];
    while (j < b.name.size() && is_digit(b.name[j])) y += b.name[j++];
    if (x != y) return std::tuple(x.size(), x) < std::tuple(y.size(), y);
  }
  return a.name.size() - i < b.name.size() - j;
}

void match_without_lines(Sides& before, Sides& after, DiffBy by, std::vector<Difference>& rows) {
  auto others = loosely(after);
  for (auto& [loose, keys] : loosely(before)) {
    std::vector<Key>& matching = others[loose];
    std::sort(keys.begin(), keys.end(), in_order_of_lines);
    std::sort(matching.begin(), matching.end(), in_order_of_lines);
    for (std::size_t i = 0; i < std::min(keys.size(), matching.size()); ++i) {
      rows.push_back(row_of(keys[i], by, before[keys[i]], after[matching[i]]));
      before.erase(keys[i]);
      after.erase(matching[i]);
    }
  }
}

const std::vector<std::string>& frames_of(const Difference& row) {
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
    return std::tie(a.name, frames_of(a), a.kind, a.device) <
           std::tie(b.name, frames_of(b), b.kind, b.device);
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
  const auto add_rest = [](const Sides& gone, const Sides& fresh, DiffBy of, auto& rows) {
    for (const auto& [key, side] : gone) rows.push_back(row_of(key, of, side, {}));
    for (const auto& [key, side] : fresh) rows.push_back(row_of(key, of, {}, side));
  };
  match_exactly(one, other, DiffBy::kind, result.memory);
  add_rest(one, other, DiffBy::kind, result.memory);
  put_largest_first(result.memory);

  one = sides_of(before, by, at, name);
  other = sides_of(after, by, at, name);
  match_exactly(one, other, by, result.rows);
  match_without_lines(one, other, by, result.rows);
  add_rest(one, other, by, result.rows);
  result.equal =
      std::erase_if(result.rows, [](const Difference& row) { return row.change() == 0; });
  put_largest_first(result.rows);
  return result;
}

}  // namespace vramscope
