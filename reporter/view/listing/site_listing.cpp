// Lays out listings of call sites.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/site_listing.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/view/analysis/filter/filter.h"
#include "reporter/view/analysis/stacks/stack_front.h"

namespace vramscope {
namespace {

constexpr unsigned kCallYields = 5;

// Frames that --site chose the rows by.
std::function<bool(const Caller&)> wanted_by(const Page& page) {
  for (const auto& [option, typed] : page.filters) {
    if (option != filter_option(&Filter::site)) continue;
    return [pattern = Pattern(typed)](const Caller& caller) {
      return pattern.is_in(caller.function) || pattern.is_in(caller.full) ||
             pattern.is_in(caller.path) || pattern.is_in(caller.module);
    };
  }
  return {};
}

bool call_the_same(const std::vector<CallSite>& sites) {
  return std::all_of(sites.begin(), sites.end(),
                     [&](const CallSite& site) { return site.entry == sites.front().entry; });
}

}  // namespace

SiteListing::SiteListing(const Report& report, const NameFrame& name,
                         std::vector<Table::Column> columns, Calls calls)
    : report_(report), name_(name), columns_(std::move(columns)), calls_(calls) {}

void SiteListing::add(std::vector<std::string> cells, std::int64_t site) {
  rows_.push_back({.cells = std::move(cells), .site = site});
}

void SiteListing::add_heading(std::string text) {
  rows_.push_back({.cells = {}, .site = -1, .heading = std::move(text)});
}

CallSite SiteListing::call_site_of(std::size_t row, std::size_t most) const {
  const std::int64_t site = rows_[row].site;
  if (site < 0) return {};
  return call_site(report_, report_.sites[static_cast<std::size_t>(site)], name_, most);
}

CallSite SiteListing::folded_site_of(std::size_t row) const {
  const std::int64_t site = rows_[row].site;
  if (site < 0) return {};
  return folded_call_site(report_, report_.sites[static_cast<std::size_t>(site)], name_,
                          kFramesLookedAt);
}

Table SiteListing::table_of(const std::vector<std::string>& last,
                            const std::vector<CallSite>* calls,
                            const std::vector<std::string>& below) const {
  std::vector<Table::Column> titles = columns_;
  if (calls != nullptr) {
    titles.insert(titles.end() - 1, {"CALL", Table::Align::left, kCallYields});
  }
  Table table(std::move(titles));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].heading) {
      table.add_heading(*rows_[i].heading);
      continue;
    }
    std::vector<std::string> cells = rows_[i].cells;
    if (calls != nullptr) cells.push_back((*calls)[i].entry);
    if (!last.empty()) cells.push_back(last[i]);
    table.add(std::move(cells));
    if (!below.empty() && !below[i].empty()) table.add_below(below[i]);
  }
  return table;
}

std::vector<std::string> SiteListing::source_lines(const std::vector<const Caller*>& tellers,
                                                   const Page& page) const {
  std::vector<std::string> below;
  std::string before;  // of the row above
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    below.emplace_back();
    if (tellers[i] == nullptr) continue;
    const std::string& line = tellers[i]->line;
    if (!line.empty() && line != before) below.back() = "  | " + printable(line, page);
    before = line;
  }
  return below;
}

// The report's largest, without rows: beside them it is seen which frames are a helper's.
std::vector<CallSite> SiteListing::sites_beside() const {
  constexpr std::size_t kCompared = 64;
  std::set<std::int64_t> listed;
  for (const Row& row : rows_) listed.insert(row.site);
  std::vector<CallSite> sites;
  for (std::size_t i = 0; i < std::min(kCompared, report_.sites.size()); ++i) {
    if (listed.contains(static_cast<std::int64_t>(i))) continue;
    sites.push_back(folded_call_site(report_, report_.sites[i], name_, kFramesLookedAt));
  }
  return sites;
}

SiteListing::Drawn SiteListing::in_rows(const Page& page, SourceLines lines) const {
  std::vector<std::size_t> rows;  // that have a stack
  std::vector<CallSite> sites(rows_.size());
  std::vector<CallSite> shown;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].heading) continue;
    rows.push_back(i);
    shown.push_back(sites[i] = folded_site_of(i));
  }
  const bool is_column = calls_ == Calls::shown && !call_the_same(shown);
  const auto* const calls = is_column ? &sites : nullptr;
  const auto whole = [&](std::size_t i) { return call_site_of(rows[i], kAllFrames); };
  const StacksShown beside{.is_wanted = wanted_by(page), .beside = sites_beside()};
  std::vector<StackText> texts = stack_texts(shown, Table::kUncut, whole, beside);
  std::size_t widest = 0;
  for (const StackText& one : texts) widest = std::max(widest, columns(one.text));
  Table table = table_of({}, calls, {});
  table.keep_room(widest);
  if (table.room(page) < widest) texts = stack_texts(shown, table.room(page), whole, beside);
  std::vector<std::string> last(rows_.size());
  std::vector<const Caller*> tellers(rows_.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [text, front, told_by] = texts[i];
    last[rows[i]] = printable(text, page);
    const std::vector<Caller>& callers = shown[i].callers;
    if (callers.empty()) continue;
    const bool is_known = told_by < callers.size() && !callers[told_by].line.empty();
    tellers[rows[i]] = &callers[is_known ? told_by : front];
  }
  const bool has_lines = lines == SourceLines::shown;
  table =
      table_of(last, calls, has_lines ? source_lines(tellers, page) : std::vector<std::string>());
  table.keep_room(widest);
  const bool is_remark =
      calls_ == Calls::shown && !is_column && !shown.empty() && !shown[0].entry.empty();
  const std::string remark = is_remark ? "  All by " + printable(shown[0].entry, page) + ".\n" : "";
  return {table.text(page) + remark + table.left_out(page), table.titles(page), widest};
}

SiteListing::Drawn SiteListing::in_full(const Page& page) const {
  std::vector<std::string> calls(rows_.size());
  std::vector<CallSite> sites(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].heading) continue;
    sites[i] = call_site_of(i, kAllFrames);
    calls[i] = printable(sites[i].entry, page);
  }
  constexpr std::size_t kIndent = 6;
  const Table table = table_of(calls, nullptr, {});
  const std::string rows = table.text(page, [&](std::size_t i) {
    return rows_[i].heading ? "" : whole_stack_text(sites[i], page, kIndent);
  });
  return {rows + table.left_out(page), table.titles(page)};
}

SiteListing::Drawn SiteListing::drawn(const Page& page, SourceLines lines) const {
  return page.stacks == Stacks::in_full ? in_full(page) : in_rows(page, lines);
}

std::size_t SiteListing::lines(const Page& page, std::size_t widest) const {
  Table table = table_of({}, nullptr, {});
  table.keep_room(widest);
  constexpr std::size_t kTitles = 1;
  return kTitles + rows_.size() + line_count(table.left_out(page));
}

RowsBlock rows_of(ListedSites sites, const Page& page) {
  const auto all = std::make_shared<const ListedSites>(std::move(sites));
  const auto shown_in = [all](const ScreenRoom& room) {
    return rows_shown(all->all, all->most(room));
  };
  const auto around = [all](std::size_t shown, const std::string& rows) {
    return (all->above ? all->above(shown) : "") + rows + (all->below ? all->below(shown) : "");
  };
  const std::size_t usual = shown_in({});
  const auto known = std::make_shared<std::optional<SiteListing::Drawn>>();
  const auto whole = [all, known, usual, page]() -> const SiteListing::Drawn& {
    if (!*known) *known = all->listing(usual).drawn(page);
    return **known;
  };
  return {.text =
              [=](const ScreenRoom& room) {
                const std::size_t shown = shown_in(room);
                if (room.brevity == Brevity::none && shown == usual)
                  return around(shown, whole().text);
                const SiteListing listing = all->listing(shown);
                return around(shown, listing.drawn(page, SiteListing::SourceLines::hidden).text);
              },
          .lines =
              [=](const ScreenRoom& room) {
                const std::size_t shown = shown_in(room);
                return line_count(around(shown, "")) +
                       all->listing(shown).lines(page, whole().widest);
              }};
}

void add_listing(Document& text, SiteListing listing, const Page& page) {
  if (listing.empty()) return;
  const auto all = std::make_shared<const SiteListing>(std::move(listing));
  const auto drawn = [all, page](const ScreenRoom&) { return all->text(page); };
  text.table({.text = drawn,
              .lines = [drawn](const ScreenRoom& room) { return line_count(drawn(room)); }});
}

std::string where_text(const Report& report, std::int64_t site, const NameFrame& name,
                       const Page& page, std::size_t most) {
  if (site < 0) return "unknown";
  const Site& found = report.sites[static_cast<std::size_t>(site)];
  const CallSite where = call_site_in_text(report, found, name, most + 1);
  return printable(stack_text(where, Table::kUncut, most), page);
}

}  // namespace vramscope
