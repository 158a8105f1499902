// Lists refusals that are told in a row, and call stacks that never got anything.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/text/oom_rows.h"

#include <algorithm>
#include <set>
#include <vector>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/refused_requests.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/listing/site_listing.h"
#include "reporter/view/text/process_text.h"
#include "reporter/view/text/report_text.h"

namespace vramscope {
namespace {

// What one call stack was refused of one memory, between the first refusal and the last.
struct RefusedTimes {
  const OomEvent* first = nullptr;
  const OomEvent* last = nullptr;
  std::uint64_t count = 0;
  std::uint64_t watched = 0;  // of these
  std::uint64_t served = 0;   // as much, later
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = 0;
};

// In the order in which each began.
std::vector<RefusedTimes> refused_between(const std::vector<OomEvent>& events) {
  std::vector<RefusedTimes> rows;
  for (std::size_t i = 1; i + 1 < events.size(); ++i) {
    const OomEvent& event = events[i];
    auto row = std::find_if(rows.begin(), rows.end(), [&](const RefusedTimes& one) {
      return one.first->site == event.site && one.first->kind == event.kind &&
             one.first->device == event.device;
    });
    if (row == rows.end()) {
      row = rows.insert(row, {.first = &event, .least_bytes = event.bytes});
    }
    row->last = &event;
    ++row->count;
    row->watched += event.is_watched ? 1 : 0;
    row->served += event.served_ns >= 0 ? 1 : 0;
    row->least_bytes = std::min(row->least_bytes, event.bytes);
    row->most_bytes = std::max(row->most_bytes, event.bytes);
  }
  return rows;
}

// "yes" or "never" of as much memory, "2 of 5" of several; "-" where nobody looked out for it.
std::string served_text(const Report& report, const RefusedTimes& row) {
  if (row.watched != row.count || (row.served == 0 && !is_final(report))) return "-";
  if (row.served == row.count) return "yes";
  return row.served == 0 ? "never"
                         : std::to_string(row.served) + " of " + std::to_string(row.count);
}

}  // namespace

std::string asked_text(const OomEvent& event) {
  return event.bytes == 0 ? "an allocation" : amount_text(event.bytes);
}

std::string ordinal_text(std::uint64_t number) {
  const bool is_teen = number / 10 % 10 == 1;
  const char* const endings[] = {"th", "st", "nd", "rd"};
  return std::to_string(number) + endings[is_teen || number % 10 > 3 ? 0 : number % 10];
}

std::string which_refusal(const Report& report, const OomEvent& event) {
  if (report.oom.count == 1) return "only refusal";
  const MergedProcess* const process = own_refusal(report, event).process;
  const std::uint64_t count = process == nullptr ? report.oom.count : process->oom.count;
  const std::string text = ordinal_text(event.number) + " of " + std::to_string(count);
  return count == report.oom.count ? text : text + " of " + named_process(process->process);
}

std::string sizes_text(const Report& report, const OomEvent& event) {
  if (event.shares.empty()) return "";
  const LiveSizes sizes = live_sizes(report, event.shares.front());
  if (sizes.size() < 2) return "";
  std::string text;
  for (const auto& [bytes, count] : sizes) {
    text += (text.empty() ? "" : ", ") + count_text(static_cast<std::int64_t>(count)) + " x " +
            amount_text(bytes);
  }
  return (event.shares.size() == 1 ? "sizes of these blocks: " : "sizes in the largest row: ") +
         text;
}

void add_refused_too(Document& text, const Report& report, const NameFrame& name,
                     const Page& page) {
  using enum Table::Align;
  const std::vector<OomEvent>& events = report.oom.events;
  SiteListing table(report, name,
                    {{"ASKED", right},
                     {"COUNT", right, 2},
                     {"AFTER", right, 3},
                     {"SERVED LATER", left, 4},
                     {"MEMORY", left, 1},
                     {"ALSO REFUSED", left}});
  const auto from_to = [](const std::string& from, const std::string& to) {
    return from == to ? from : from + " to " + to;
  };
  for (const RefusedTimes& row : refused_between(events)) {
    const std::string most =
        row.most_bytes == 0 ? asked_text(*row.first) : amount_text(row.most_bytes);
    table.add({row.least_bytes == 0 ? most : from_to(amount_text(row.least_bytes), most),
               count_text(row.count),
               from_to(duration_text(row.first->time_ns), duration_text(row.last->time_ns)),
               served_text(report, row), memory_name(report, row.first->kind, row.first->device)},
              row.first->site);
  }
  if (table.empty()) return;
  text.gap();
  add_listing(text, std::move(table), page);
  text.paragraph(further_refusals(report));
}

std::string further_refusals(const Report& report) {
  const std::size_t told = report.oom.events.size();
  if (report.chosen || report.oom.count <= told) return "";
  return counted(report.oom.count - told, "further refusal") + " counted, without details";
}

// Whether each time that the site was refused somebody was served as much later: who frees and asks
// again on another line has got it.
bool was_served_elsewhere(const Report& report, std::size_t index) {
  std::uint64_t served = 0;
  for (const OomEvent& event : report.oom.events) {
    if (event.site == static_cast<std::int64_t>(index) && event.served_ns >= 0) ++served;
  }
  return served == report.sites[index].refused_count;
}

std::string replaced_text(const Report& report, const NameFrame& name, const Page& page) {
  if (page.stacks == Stacks::in_full) return "";  // the stacks say it
  std::set<std::int64_t> sites;
  for (const OomEvent& event : report.oom.events) {
    sites.insert(event.site);
    for (const OomShare& share : event.shares) sites.insert(share.site);
    for (const OomPin& pin : event.pins) sites.insert(pin.site);
  }
  const bool has_any = std::any_of(sites.begin(), sites.end(), [&](std::int64_t site) {
    if (site < 0) return false;
    const CallSite stack =
        call_site(report, report.sites[static_cast<std::size_t>(site)], name, kFramesInRow);
    return std::any_of(stack.callers.begin(), stack.callers.end(),
                       [](const Caller& caller) { return caller.path == kReplaced; });
  });
  return has_any ? "(replaced): the file has changed since the run, so its functions have no names"
                 : "";
}

void add_never_served(Document& text, const Report& report, const NameFrame& name, const Page& page,
                      std::size_t most) {
  using enum Table::Align;
  SiteListing table(report, name,
                    {{"ASKED EACH", right},
                     {"COUNT", right, 1},
                     {is_final(report) ? "WAS NEVER SERVED" : "NOT SERVED SO FAR", left}});
  std::size_t rows = 0;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    const Site& site = report.sites[i];
    if (site.refused_count == 0 || site.totals.total_count != 0) continue;
    if (was_served_elsewhere(report, i)) continue;
    if (most != 0 && rows++ == most) break;
    // Who retries asks for the same again: a sum would be of nothing. The average, of several.
    table.add(
        {amount_text(site.refused_bytes / site.refused_count), count_text(site.refused_count)},
        static_cast<std::int64_t>(i));
  }
  if (table.empty()) return;
  text.gap();
  add_listing(text, std::move(table), page);
}

}  // namespace vramscope
