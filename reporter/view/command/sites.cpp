// vramscope sites: the places that allocated.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>

#include "reporter/report/report.h"
#include "reporter/view/command/publish_rows.h"
#include "reporter/view/command/show.h"
#include "reporter/view/text/site_groups.h"
#include "reporter/view/text/sites_text.h"

namespace vramscope {
namespace {

constexpr std::size_t kRows = 20;

struct Arguments : OneReport {
  std::string by = "peak";
  std::string group;  // "": none
  bool histograms = false;
};

std::string no_order(const std::string& name) {
  return site_order(name) ? "" : "'" + name + "' is none of " + listed(kSiteOrderNames);
}

std::optional<GroupBy> group_named(const std::string& name) {
  const auto found = std::find(kGroupByNames.begin(), kGroupByNames.end(), name);
  if (found == kGroupByNames.end()) return std::nullopt;
  return static_cast<GroupBy>(found - kGroupByNames.begin());
}

std::string no_group(const std::string& name) {
  return group_named(name) ? "" : "'" + name + "' is none of " + listed(kGroupByNames);
}

int show_groups(Arguments& given, SiteOrder order) {
  if (!is_order_of_groups(order)) {
    return refuse("--by " + given.by +
                  " is of single sites: with --group it is one of peak, live, total, count, time");
  }
  const GroupBy by = *group_named(given.group);
  const NameFrame name = names_from_symbols(given.stacks.shown);
  const auto text = [&](const Report& report, const Page& page) {
    return groups_text(report, by, order, name, page, given.listing.rows());
  };
  const auto rows = [&](const Report& report) {
    return group_rows(report, by, order, name, given.listing.rows());
  };
  const auto columns = [by](const Report& report) {
    return group_columns(by, run_history(report));
  };
  given.columns = {names_of(group_columns(by, RunHistory::known))};
  given.next = "sites";
  given.use.row_is_of_memory = true;
  given.row_of = [by, &name](const Report& report) { return rows_of_groups(report, by, name); };
  given.use.of_a_trace = "sites --group " + given.group;
  return show(given, row_makers(text, rows, columns));
}

int show_sites(Arguments& given) {
  const SiteOrder order = *site_order(given.by);
  given.use.measure = order == SiteOrder::peak   ? Measure::peak
                      : order == SiteOrder::live ? Measure::live
                                                 : Measure::total;
  // They would count the same bytes again; who asks for such a kind gets it.
  if (given.filter.kind.empty()) given.prepare = leave_out_views;
  if (!given.group.empty()) return show_groups(given, order);
  const NameFrame name = names_from_symbols(given.stacks.shown);
  const auto text = [&](const Report& report, const Page& page) {
    const auto rows = given.histograms ? histograms_text : all_sites_text;
    return rows(report, order, name, page, given.listing.rows());
  };
  const auto rows = [&](const Report& report) {
    return sites_in_order(report, order, name, given.listing.rows());
  };
  const auto columns = [&](const Report& report) { return site_columns(report, name); };
  given.columns = {names_of(site_columns(Report(), {}))};
  given.next = given.histograms                        ? "sites --full"
               : given.stacks.shown == Stacks::in_rows ? "sites --full"
               : given.by != "growth"                  ? "sites --by growth"
                                                       : "sites --histograms -n 3";
  return show(given, row_makers(text, rows, columns));
}

}  // namespace

Verb add_sites(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command& command = line.add_verb("sites", "List the call sites that allocate memory");
  arguments->use.inputs = Inputs::both;
  arguments->adds_up = true;
  add_one_report(command, *arguments, kRows);
  arguments->use.of_a_trace = "sites";
  add_filters(command, arguments->filter, arguments->use);
  command.option("--by", &arguments->by, "Rank by " + listed(kSiteOrderNames),
                 {.value_name = "ORDER",
                  .why_not = no_order,
                  .shows_default = true,
                  .choices = choices_in(listed(kSiteOrderNames))});
  command.option(
      "--group", &arguments->group, "Add up all sites by " + listed(kGroupByNames),
      {.value_name = "WHAT", .why_not = no_group, .choices = choices_in(listed(kGroupByNames))});
  command.flag("--lines", arguments->stacks.by_line,
               "Join sites of one Python line, whoever called it");
  add_layout_options(command, arguments->stacks);
  add_view_options(command, arguments->stacks);
  add_reading(command, arguments->reading);
  command.flag("--histograms", arguments->histograms,
               "Show the sizes and lifetimes of allocations");
  command.exclude("--histograms", "--full");
  command.exclude("--histograms", "--tree");
  command.exclude("--group", "--tree");
  command.exclude("--group", "--histograms");
  command.footer(
      "Examples:\n"
      "  vramscope sites vramscope.train.4711.json\n"
      "  vramscope sites --by temporary -n 5 vramscope.train.4711.json   allocations to make once "
      "and reuse\n"
      "  vramscope sites --sort total_count --csv --each *.json          every row, for other "
      "tools\n"
      "  vramscope sites --group function vramscope.train.4711.json      all sites added up by "
      "function\n"
      "  vramscope sites --tree --by total vramscope.train.4711.json     who requested most in "
      "total");
  return {.command = &command, .act = [arguments] { return show_sites(*arguments); }};
}

}  // namespace vramscope
