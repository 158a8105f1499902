// Sums of places by what of the program they are in.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/site_groups.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "reporter/report/files/file_name.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/site_usage.h"
#include "reporter/view/analysis/stacks/site_fronts.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/site_columns.h"
#include "reporter/view/text/totals_text.h"
#include "reporter/view/text/words.h"

namespace vramscope {
namespace {

// What a place is counted for: `key` tells it from others, `name` is short.
struct GroupName {
  std::string key;
  std::string name;
  friend auto operator<=>(const GroupName&, const GroupName&) = default;
};

const GroupName kUnknown{"unknown", "unknown"};

// Of Python code, which lies in no object: its package, or whose it is.
GroupName python_library(const Caller& caller) {
  constexpr std::string_view kPackages = "-packages/";
  const std::string_view path = caller.path;
  if (const std::size_t at = path.find(kPackages); at != path.npos) {
    const std::string_view inside = path.substr(at + kPackages.size());
    const std::string name(inside.substr(0, inside.find_first_of("/.")));
    return {name, name};
  }
  const std::string name = is_of_standard_library(caller) ? "Python's library" : "Python program";
  return {name, name};
}

GroupName library_of(const Caller& caller) {
  if (!caller.module.empty()) return {caller.module, base_name(caller.module)};
  return caller.path.empty() ? kUnknown : python_library(caller);
}

GroupName file_of(const Caller& caller) {
  if (caller.path.empty()) return library_of(caller);
  return {without_line(caller.path), without_line(caller.place)};
}

bool has_name(const Caller& caller) { return caller.function != caller.at; }

GroupName function_of(const Caller& caller, bool in_full) {
  if (!has_name(caller)) return library_of(caller);
  const GroupName file = file_of(caller);
  const std::string& full = full_name(caller);
  const std::string in_file = caller.path.empty() ? " (in " : " (";
  return {full + in_file + file.key + ")",
          (in_full ? full : function_name(caller, 80)) + in_file + file.name + ")"};
}

GroupName line_of(const Caller& caller) {
  if (caller.path.empty()) return {caller.module + caller.at, caller.at};
  return {caller.path, caller.place};
}

GroupName group_of(const Caller& caller, GroupBy by, bool in_full) {
  switch (by) {
    case GroupBy::function:
      return function_of(caller, in_full);
    case GroupBy::file:
      return file_of(caller);
    case GroupBy::library:
      return library_of(caller);
    case GroupBy::line:
      return line_of(caller);
  }
  return kUnknown;
}

// The group of each site.
std::vector<GroupName> groups_of_sites(const Report& report, GroupBy by, const NameFrame& name) {
  const Report* const reports[] = {&report};
  const SiteFronts fronts = fronts_of_sites(reports, name);
  std::vector<GroupName> names;  // by number of the frame
  for (const Caller& caller : fronts.callers) {
    names.push_back(group_of(caller, by, name.in_full));
  }
  std::vector<GroupName> groups;
  for (const std::uint32_t front : fronts.of_sites.front()) {
    groups.push_back(front == SiteFronts::kUnknown ? kUnknown : names[front]);
  }
  return groups;
}

using Memory = std::pair<Kind, std::uint16_t>;

// Short names that several have do not tell them apart.
void set_group_names(std::map<std::pair<GroupName, Memory>, SiteGroup>& groups, bool in_full) {
  std::map<std::string, std::string> first;  // key by name
  std::map<std::string, bool> are_several;
  for (const auto& [what, group] : groups) {
    const GroupName& named = what.first;
    const auto [known, is_new] = first.try_emplace(named.name, named.key);
    if (!is_new && known->second != named.key) are_several[named.name] = true;
  }
  for (auto& [what, group] : groups) {
    const GroupName& named = what.first;
    group.name = in_full || are_several.contains(named.name) ? named.key : named.name;
  }
}

std::uint64_t rank_of_group(const SiteGroup& group, SiteOrder order) {
  switch (order) {
    case SiteOrder::live:
      return group.totals.live_bytes;
    case SiteOrder::total:
      return group.totals.total_bytes;
    case SiteOrder::count:
      return group.totals.total_count;
    case SiteOrder::time:
      return group.totals.total_ns;
    default:
      return group.totals.peak_bytes;
  }
}

std::string counted_groups(GroupBy by, std::size_t count) {
  if (by == GroupBy::library && count != 1) return count_text(count) + " more libraries";
  return counted(count, "more " + std::string(kGroupByNames[static_cast<std::size_t>(by)]));
}

}  // namespace

bool is_order_of_groups(SiteOrder order) {
  return order != SiteOrder::temporary && order != SiteOrder::growth;
}

Columns<SiteGroup> group_columns(GroupBy by, RunHistory history) {
  using Row = SiteGroup;
  using enum Table::Align;
  const auto totals = [](const Row& row) -> const SiteTotals& { return row.totals; };
  const auto share = [](const Row& row) { return percent_text(row.totals.peak_bytes, row.whole); };
  Columns<Row> sums = totals_columns<Row>(totals, {1, 3, 5, 2, 7});
  need_history(sums, kHistoryOfTotals, history);
  sums.insert(sums.begin() + 1, {{"SHARE", right, 4}, share});
  Columns<Row> columns{
      {"group", "what `--group` chose", &Row::by, OneOf(kGroupByNames)},
      {"name",
       "name of the function (with its file), of the file, of the object or Python package, or of "
       "the line. It has types and paths with `--full`, or if the short name is ambiguous. For "
       "code without names or lines it is the object; `unknown`: no stack was taken",
       &Row::name},
      kind_column<Row>(&Row::kind),
      device_column<Row>(&Row::device),
      {"site_count", "number of sites in the sum", &Row::sites}};
  append(columns, sums);
  append(columns, {{{"SITES", right, 6}, [](const Row& row) { return count_text(row.sites); }},
                   {{"MEMORY"}, [](const Row& row) { return row.memory; }},
                   {{in_capitals(kGroupByNames[static_cast<std::size_t>(by)])}, &Row::name}});
  return columns;
}

RowOfSite rows_of_groups(const Report& report, GroupBy by, const NameFrame& name) {
  std::map<GroupName, std::size_t> numbers;
  std::vector<std::size_t> rows;
  for (const GroupName& group : groups_of_sites(report, by, name)) {
    rows.push_back(numbers.try_emplace(group, numbers.size()).first->second);
  }
  return [rows](std::size_t site) { return rows[site]; };
}

std::vector<SiteGroup> group_rows(const Report& report, GroupBy by, SiteOrder order,
                                  const NameFrame& name, const RowChoice& choice) {
  const std::vector<GroupName> names = groups_of_sites(report, by, name);
  std::map<std::pair<GroupName, Memory>, SiteGroup> all;
  std::map<Memory, std::uint64_t> whole;
  for (const SiteUsage& usage : usage_by_site(report)) {
    if (report.sites[usage.site].is_left_out) continue;  // the others' estimates stand for it
    const Memory memory{usage.kind, usage.device};
    SiteGroup& group = all[{names[usage.site], memory}];
    group.by = by;
    group.kind = usage.kind;
    group.device = usage.device;
    group.memory = memory_name(report, usage.kind, usage.device);
    group.sites += std::max<std::size_t>(report.sites[usage.site].numbers.size(), 1);
    group.totals += usage.totals;
    whole[memory] += usage.totals.peak_bytes;
  }
  set_group_names(all, name.in_full);
  std::vector<SiteGroup> groups;
  for (auto& [what, group] : all) {
    group.whole = whole[what.second];
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [&](const SiteGroup& a, const SiteGroup& b) {
    return std::pair(rank_of_group(a, order), a.totals.total_bytes) >
           std::pair(rank_of_group(b, order), b.totals.total_bytes);
  });
  return chosen_rows(std::move(groups), group_columns(by, run_history(report)), choice);
}

Document groups_text(const Report& report, GroupBy by, SiteOrder order, const NameFrame& name,
                     const Page& page, const RowChoice& choice) {
  const std::vector<SiteGroup> groups = group_rows(report, by, order, name, {0, choice.sort});
  if (groups.empty()) return nothing_text(report);
  Columns<SiteGroup> columns = group_columns(by, run_history(report));
  keep(columns, title_of(order));
  const bool is_snapshot = !tells_frees(report);
  if (is_snapshot) keep_what_was_live(columns);
  const std::size_t left = groups.size() - rows_shown(groups.size(), choice.most);
  Document text;
  text.table(table_of(columns, groups, page, choice.most),
             left == 0 ? "" : "  and " + counted_groups(by, left) + "\n");
  const std::string when = is_of_several(report) ? "of each process, when its memory held most"
                                                 : "at the peak of that kind of memory";
  text.gap();
  text.paragraph((is_snapshot ? std::string("NOW: requested bytes live at the snapshot")
                              : "Requested bytes of all sites. AT PEAK: " + when) +
                 ". Each site is added to the " +
                 std::string(kGroupByNames[static_cast<std::size_t>(by)]) +
                 " of the first frame in its row; frames of the standard library and of wrappers "
                 "are never first.");
  text.append(totals_text(report, name), kUnlessRepeated);
  return text;
}

}  // namespace vramscope
