// Gives both reports' places names, and adds them up.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/diff/diff.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/diff/stack_match.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/inner_frames.h"
#include "reporter/view/analysis/stacks/site_fronts.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

void add(RowSides& sides, const RowKey& key, std::uint64_t bytes, std::uint64_t count,
         std::int64_t site) {
  DiffSide& side = sides[key];
  side.is_there = true;
  side.bytes += bytes;
  side.count += count;
  if (site >= 0) side.sites.push_back(site);
}

std::pair<std::uint64_t, std::uint64_t> numbers_at(const SiteTotals& totals, DiffAt at) {
  if (at == DiffAt::peak) return {totals.peak_bytes, totals.peak_count};
  if (at == DiffAt::end) return {totals.live_bytes, totals.live_count};
  return {totals.total_bytes, totals.total_count};
}

// A site that held nothing at that time, but allocated, is there with 0 bytes: it is not new where
// it holds something in the other report.
std::vector<Share> shares_at(const Report& report, DiffAt at) {
  std::vector<Share> shares;
  const bool at_end = at == DiffAt::end;
  for (const SiteUsage& usage : at_end ? usage_with_never_freed(report) : usage_by_site(report)) {
    auto [bytes, count] = numbers_at(usage.totals, at);
    if (at_end) bytes = usage.never_freed_bytes, count = usage.never_freed_count;
    if (bytes == 0 && count == 0 && usage.totals.total_count == 0) continue;
    shares.push_back({usage.site, usage.kind, usage.device, bytes, count, /*whole=*/0});
  }
  return shares;
}

// "forward" of "Block.forward": snapshots of PyTorch have no more of a name.
std::string last_of_name(const std::string& function) {
  return function.substr(function.rfind('.') + 1);  // of npos: all
}

// The innermost caller of the program's own Python, which every recorder tells; null: none is.
const Caller* own_caller(const NumberedStack& stack, const SharedNames& names) {
  for (const std::uint32_t number : stack) {
    const Caller& caller = *names.callers[number].caller;
    if (is_own_python(caller)) return &caller;
  }
  return nullptr;
}

// With its own callers as a stack where there are any.
NumberedStack stack_by_own_line(const NumberedStack& stack, SharedNames& names,
                                const NameFrame& name) {
  const Caller* const own = own_caller(stack, names);
  if (own == nullptr) return stack;
  Caller caller = *own;
  caller.function = caller.full = last_of_name(caller.function);
  return {names.number(caller, name)};
}

// Whose frames are told in two ways: one is of another tool.
bool is_told_otherwise(const Report& before, const Report& after) {
  return (trigger_of(before) == Trigger::imported) != (trigger_of(after) == Trigger::imported);
}

RowSides by_stack(const Report& report, DiffAt at, bool by_own_lines, const NameFrame& name,
                  SharedNames& names) {
  NumberedCallers callers(report, name,
                          [&](const Caller& caller) { return names.number(caller, name); });
  std::vector<std::optional<std::uint32_t>> rows(report.sites.size());
  RowSides sides;
  for (const Share& share : shares_at(report, at)) {
    std::optional<std::uint32_t>& row = rows[share.site];
    if (!row) {
      NumberedStack stack = callers.of(report.sites[share.site], kFramesCompared);
      if (by_own_lines) stack = stack_by_own_line(stack, names, name);
      row = names.stacks.of(stack);
    }
    add(sides, {.what = *row, .kind = share.kind, .device = share.device}, share.bytes, share.count,
        site_number(report, share.site));
  }
  return sides;
}

// `which` of the reports that the fronts are of.
RowSides by_function(const Report& report, std::size_t which, DiffAt at, const SiteFronts& fronts,
                     SharedNames& names) {
  RowSides sides;
  for (const Share& share : shares_at(report, at)) {
    const std::uint32_t front = fronts.of_sites[which][share.site];
    const std::uint32_t row =
        names.words.of(front == SiteFronts::kUnknown ? "unknown" : fronts.callers[front].function);
    add(sides, {.what = row, .kind = share.kind, .device = share.device}, share.bytes, share.count,
        site_number(report, share.site));
  }
  return sides;
}

// Where call stacks were chosen, by these.
RowSides by_owner_of_stacks(const Report& report, DiffAt at, SharedNames& names) {
  RowSides sides;
  const auto numbers = [at](const SiteTotals& totals) { return numbers_at(totals, at); };
  for (const Share& share : shares_at(report, at)) {
    for (const OwnerPart& part : owner_parts(report, share, numbers)) {
      const std::uint32_t owner = names.words.of(part.owner);
      add(sides, {.what = owner, .kind = share.kind, .device = share.device}, part.bytes,
          part.count, -1);
    }
  }
  return sides;
}

RowSides by_owner(const Report& report, DiffAt at, SharedNames& names) {
  if (report.chosen && report.chosen->by_rows) return by_owner_of_stacks(report, at, names);
  RowSides sides;
  for (const AxisEntry& entry : report.axes) {
    if (entry.axis != Axis::owner || !holds_memory(entry.kind)) continue;
    const auto [bytes, count] = numbers_at(entry.totals, at);
    if (bytes == 0 && count == 0 && entry.totals.total_count == 0) continue;
    add(sides, {.what = names.words.of(entry.value), .kind = entry.kind, .device = entry.device},
        bytes, count, -1);
  }
  return sides;
}

// What is known without call stacks; of totals only what sites tell.
RowSides by_kind(const Report& report, DiffAt at) {
  RowSides sides;
  if (at == DiffAt::total) {
    for (const Share& share : shares_at(report, at)) {
      add(sides, {.kind = share.kind, .device = share.device}, share.bytes, share.count, -1);
    }
    return sides;
  }
  for (const KindFacts& kind : report.kinds) {
    if (!holds_memory(kind.kind)) continue;
    const std::uint64_t bytes = at == DiffAt::peak ? kind.peak_bytes : kind.current_bytes;
    if (bytes == 0 && kind.allocations == 0) continue;
    const std::uint64_t live = kind.allocations - std::min(kind.allocations, kind.frees);
    add(sides, {.kind = kind.kind, .device = kind.device}, bytes,
        at == DiffAt::peak ? kind.allocations : live, -1);
  }
  return sides;
}

// Of both, whose frames are told in two ways.
RowSides by_own_function(const Report& report, DiffAt at, const NameFrame& name,
                         SharedNames& names) {
  RowSides sides;
  for (auto& [key, side] : by_stack(report, at, true, name, names)) {
    const Caller* const own = own_caller(names.stacks[key.what], names);
    RowKey word = key;
    word.what = names.words.of(own == nullptr ? "unknown" : own->function);
    for (const std::int64_t site : side.sites) add(sides, word, 0, 0, site);
    add(sides, word, side.bytes, side.count, -1);
  }
  return sides;
}

RowSides sides_of(const Report& report, DiffBy by, DiffAt at, bool by_own_lines,
                  const NameFrame& name, SharedNames& names) {
  if (by == DiffBy::owner) return by_owner(report, at, names);
  if (by == DiffBy::function) return by_own_function(report, at, name, names);
  return by == DiffBy::kind ? by_kind(report, at) : by_stack(report, at, by_own_lines, name, names);
}

std::pair<RowSides, RowSides> sides_of_both(const Report& before, const Report& after, DiffBy by,
                                            DiffAt at, bool by_own_lines, const NameFrame& name,
                                            SharedNames& names) {
  if (by != DiffBy::function || by_own_lines) {
    RowSides one = sides_of(before, by, at, by_own_lines, name, names);
    return {std::move(one), sides_of(after, by, at, by_own_lines, name, names)};
  }
  const Report* const both[] = {&before, &after};
  const SiteFronts fronts = fronts_of_sites(both, name);
  RowSides one = by_function(before, 0, at, fronts, names);
  return {std::move(one), by_function(after, 1, at, fronts, names)};
}

std::string name_of(const RowKey& key, DiffBy by, const SharedNames& names) {
  return by == DiffBy::owner || by == DiffBy::function ? names.words[key.what] : "";
}

void take(DiffSide& side, RowEntry& entry, DiffBy by, const SharedNames& names) {
  side = std::move(entry.second);
  if (by != DiffBy::site) return;
  for (const std::uint32_t caller : names.stacks[entry.first.what]) {
    side.frames.push_back(names.callers[caller].text);
    side.callers.push_back(names.callers[caller].caller);
    const std::string& in_full = names.callers[caller].in_full;
    if (!in_full.empty()) side.in_full.push_back(in_full);
  }
}

Difference row_of(RowEntry* before, RowEntry* after, DiffBy by, const SharedNames& names) {
  const RowKey& key = before != nullptr ? before->first : after->first;
  Difference row{.name = name_of(key, by, names),
                 .kind = key.kind,
                 .device = key.device,
                 .before = {},
                 .after = {}};
  if (before != nullptr) take(row.before, *before, by, names);
  if (after != nullptr) take(row.after, *after, by, names);
  return row;
}

std::uint64_t bytes_of(const RowEntry* entry) { return entry != nullptr ? entry->second.bytes : 0; }

bool is_nothing(const RowPairs::value_type& pair) {
  return bytes_of(pair.first) == 0 && bytes_of(pair.second) == 0;
}

bool is_equal(const RowPairs::value_type& pair) {
  return bytes_of(pair.first) == bytes_of(pair.second);
}

std::vector<Difference> rows_of(const RowPairs& pairs, DiffBy by, const SharedNames& names) {
  std::vector<Difference> rows;
  rows.reserve(pairs.size());
  for (const auto& [before, after] : pairs) rows.push_back(row_of(before, after, by, names));
  return rows;
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

// What these rows hold, in place of all memory.
void add_up(const RowPairs& pairs, Differences& result) {
  std::map<std::pair<Kind, std::uint16_t>, Difference> sums;
  const auto add = [](const RowEntry* entry, DiffSide& sum, std::uint64_t& all) {
    if (entry == nullptr) return;
    sum.is_there = true;
    sum.bytes += entry->second.bytes;
    sum.count += entry->second.count;
    all += entry->second.bytes;
  };
  result.before_bytes = result.after_bytes = 0;
  for (const auto& [before, after] : pairs) {
    const RowKey& key = before != nullptr ? before->first : after->first;
    Difference& sum = sums[{key.kind, key.device}];
    sum.kind = key.kind;
    sum.device = key.device;
    add(before, sum.before, result.before_bytes);
    add(after, sum.after, result.after_bytes);
  }
  result.memory.clear();
  for (auto& [where, sum] : sums) result.memory.push_back(std::move(sum));
  put_largest_first(result.memory);
}

std::vector<MemorySum> sums_of(const std::vector<Difference>& memory) {
  std::vector<MemorySum> sums;
  for (const Difference& kind : memory) {
    const bool is_of_device = takes_device_memory(kind.kind);
    const auto device = static_cast<std::uint16_t>(is_of_device ? kind.device : 0);
    auto sum = std::find_if(sums.begin(), sums.end(), [&](const MemorySum& one) {
      return one.is_of_device == is_of_device && one.device == device;
    });
    if (sum == sums.end()) {
      sum = sums.insert(sum, {.is_of_device = is_of_device, .device = device});
    }
    ++sum->kinds;
    sum->before += kind.before.bytes;
    sum->after += kind.after.bytes;
  }
  return sums;
}

// The most that all kinds of a device held at one time; nothing where the report does not tell.
std::optional<std::uint64_t> joint_peak(const Report& report, std::uint16_t device) {
  for (const JointPeak& joint : report.joint_peaks) {
    if (joint.facts.device == device) return joint.facts.peak_bytes;
  }
  std::vector<std::uint64_t> peaks;
  for (const KindFacts& kind : kinds_by_peak(report)) {
    if (takes_device_memory(kind.kind) && kind.device == device) peaks.push_back(kind.peak_bytes);
  }
  if (peaks.size() > 1 || is_of_several(report)) return std::nullopt;
  return peaks.empty() ? 0 : peaks.front();
}

// Of all rows; those of some have no peak of their own.
void use_joint_peaks(const Report& before, const Report& after, bool of_all,
                     std::vector<MemorySum>& sums) {
  for (MemorySum& sum : sums) {
    if (sum.kinds < 2) continue;
    sum.is_of_one_instant = false;
    if (!sum.is_of_device || !of_all) continue;
    const std::optional<std::uint64_t> one = joint_peak(before, sum.device);
    const std::optional<std::uint64_t> other = joint_peak(after, sum.device);
    if (!one || !other) continue;
    sum.before = *one;
    sum.after = *other;
    sum.is_of_one_instant = true;
  }
}

// As AFTER has it, or BEFORE, where AFTER does not know the GPU.
void name_memory(const Report& before, const Report& after, Differences& found) {
  const auto report_of = [&](std::uint16_t device) -> const Report& {
    const bool is_known =
        std::any_of(after.devices.begin(), after.devices.end(),
                    [device](const DeviceReport& one) { return one.facts.index == device; });
    return is_known ? after : before;
  };
  for (auto* const rows : {&found.rows, &found.memory}) {
    for (Difference& row : *rows)
      row.memory = memory_name(report_of(row.device), row.kind, row.device);
  }
  for (MemorySum& sum : found.sums) sum.gpu = gpu_name(report_of(sum.device), sum.device);
}

}  // namespace

Change Difference::what() const {
  if (!before.is_there) return Change::fresh;
  if (!after.is_there) return Change::gone;
  return after.bytes >= before.bytes ? Change::grown : Change::shrunk;
}

Differences differences(const Report& before, const Report& after, DiffBy by, DiffAt at,
                        const NameFrame& name, std::uint64_t least_bytes) {
  Differences result;
  RowSides one = by_kind(before, at);
  RowSides other = by_kind(after, at);
  for (const auto& [key, side] : one) result.before_bytes += side.bytes;
  for (const auto& [key, side] : other) result.after_bytes += side.bytes;
  SharedNames names;
  RowPairs kinds = matched(one, other, RowsOf::words, names).pairs;
  std::erase_if(kinds, is_nothing);
  result.memory = rows_of(kinds, DiffBy::kind, names);
  put_largest_first(result.memory);

  result.by_own_lines =
      is_told_otherwise(before, after) && (by == DiffBy::site || by == DiffBy::function);
  std::tie(one, other) = sides_of_both(before, after, by, at, result.by_own_lines, name, names);
  RowMatches matches =
      matched(one, other, by == DiffBy::site ? RowsOf::stacks : RowsOf::words, names);
  std::erase_if(matches.pairs, is_nothing);
  std::erase_if(matches.by_functions, is_nothing);
  if (least_bytes != 0) {
    const auto is_less = [&](const RowPairs::value_type& pair) {
      return std::max(bytes_of(pair.first), bytes_of(pair.second)) < least_bytes;
    };
    std::erase_if(matches.pairs, is_less);
    std::erase_if(matches.by_functions, is_less);
    add_up(matches.pairs, result);
  }
  result.sums = sums_of(result.memory);
  if (at == DiffAt::peak) use_joint_peaks(before, after, least_bytes == 0, result.sums);
  result.by_functions = matches.by_functions.size();
  result.renamed = renamed_files(matches.by_functions, names);
  RowPairs equal;
  std::copy_if(matches.pairs.begin(), matches.pairs.end(), std::back_inserter(equal), is_equal);
  result.equal = std::erase_if(matches.pairs, is_equal);
  constexpr std::size_t kCompared = 64;
  equal.resize(std::min(equal.size(), kCompared));
  for (const Difference& row : rows_of(equal, by, names)) {
    result.equal_stacks.push_back(row.callers());
  }
  result.rows = rows_of(matches.pairs, by, names);
  put_largest_first(result.rows);
  name_memory(before, after, result);
  return result;
}

}  // namespace vramscope
